/** The layout of the page: whose it is, a reset to the default, and layouts as files. */

import { useRef, useState } from "preact/hooks";
import type { CatalogueEntry } from "../../api/types.gen";
import { fileOf, layoutInFile } from "../../lib/charts/layout";
import { usualLayout } from "../../lib/charts/usualLayout";
import { nameOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { announce } from "../../ui/overlay/announce";
import { Popover } from "../../ui/overlay/Popover";
import style from "./Layout.module.css";

const WORDS = {
  usual: "Default charts. Add, move or rename one to make the layout yours.",
  mine: "Your layout of this run. It is kept with your notes and is the same in every browser.",
  link: "The layout of the link you followed. Your own is unchanged.",
  look: "Your layout, with charts that you have not saved.",
};

const NAMES = { usual: "usual", mine: "mine", link: "of the link", look: "not kept" };

export function LayoutMenu({ entries }: { entries: readonly CatalogueEntry[] }) {
  const { layout } = useSession();
  const ofLink = layout.preview.value === null ? "link" : "look";
  const whose = layout.isOfLink.value ? ofLink : layout.own.value === null ? "usual" : "mine";
  return (
    <div class={style["menu"]}>
      <Popover label="Layout of the charts" button={`Layout: ${NAMES[whose]} ▾`} buttonClass="action" align="right">
        {(close) => (
          <div class={style["panel"]}>
            <p>{WORDS[whose]}</p>
            <Choices entries={entries} whose={whose} close={close} />
          </div>
        )}
      </Popover>
    </div>
  );
}

interface Props {
  entries: readonly CatalogueEntry[];
  whose: keyof typeof WORDS;
  close: () => void;
}

function Choices({ entries, whose, close }: Props) {
  const session = useSession();
  const { layout } = session;
  const file = useRef<HTMLInputElement>(null);
  const [trouble, setTrouble] = useState("");
  const charts = layout.charts.value ?? usualLayout(entries);
  const item = session.run.now.value;
  const saved = fileOf({ charts, x: layout.x.value, by: layout.by.value });
  const then = (act: () => void) => (): void => {
    act();
    close();
  };
  const load = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    const read = layoutInFile(await chosen.text().catch(() => ""));
    if (read === null) {
      setTrouble(`${chosen.name} is not a layout. Choose a file that this page saved.`);
      return;
    }
    layout.load(read);
    announce(`Layout of ${chosen.name}`);
    close();
  };
  return (
    <>
      {(whose === "link" || whose === "look") && (
        <>
          <button type="button" class="action" onClick={then(() => layout.keep(charts))}>
            Save as my layout
          </button>
          <button type="button" class="action" onClick={then(() => layout.back())}>
            {layout.own.value === null ? "Restore default charts" : "Back to my layout"}
          </button>
        </>
      )}
      {whose === "mine" && (
        <button type="button" class="action" onClick={then(() => layout.keep(null))}>
          Restore default charts
        </button>
      )}
      <a
        class="action"
        href={`data:application/json;charset=utf-8,${encodeURIComponent(saved)}`}
        download={`${item === null ? "run" : nameOf(item)}-layout.json`}
        onClick={close}
      >
        Save as a file
      </a>
      <button type="button" class="action" onClick={() => file.current?.click()}>
        Load a file …
      </button>
      <input
        ref={file}
        type="file"
        accept=".json,application/json"
        aria-label="A file with a layout"
        hidden
        onChange={(event) => void load(event.currentTarget.files?.[0])}
      />
      {trouble !== "" && <p role="alert">{trouble}</p>}
    </>
  );
}
