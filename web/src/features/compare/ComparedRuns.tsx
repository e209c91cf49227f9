/** The compared runs, with their colours, names and notes; runs are added and taken out here. */

import { useState } from "preact/hooks";
import type { RunItem } from "../../api/types.gen";
import { MAX_OVER } from "../../lib/address/address";
import { count } from "../../lib/numbers/numbers";
import { nameOf, runMark } from "../../state/marks";
import { runs, samplesOf } from "../../state/runs";
import { useSession } from "../../state/useSession";
import { Finder, rowId } from "../../ui/controls/Finder";
import { Icon } from "../../ui/controls/Icon";
import { Popover } from "../../ui/overlay/Popover";
import { Text } from "../../ui/text/Text";
import { matchingRuns, RunEditor } from "../runs";
import { RunName } from "./RunName";
import style from "./Compare.module.css";

/** More matches are found by more letters. */
const MOST_MATCHES = 100;
/** So few runs are offered at once. */
const FEW = 12;
const LIST_ID = "runs-to-add";

export function ComparedRuns({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const ids = new Set(compared.map(({ id }) => id));
  const others = (runs.value ?? []).filter(({ id }) => !ids.has(id));
  const over = session.place.field.over.value;
  const room = MAX_OVER - over.length;
  const add = (...added: readonly string[]): void =>
    session.place.go({ over: [...over, ...added.slice(0, room)] }, "replace");
  const visible = others.filter(({ id }) => !runMark(id).hidden);
  return (
    <ul class={style["runs"]} aria-label="Compared runs">
      {compared.map((item, at) => (
        <li key={item.id}>
          <Compared item={item} isFirst={at === 0} />
        </li>
      ))}
      {others.length > 0 && room > 0 && (
        <li class={style["add"]}>
          <Popover label="Compared runs:" button="Add a run" buttonClass="button">
            {(close) => (
              <AddRun
                others={others}
                add={(id) => {
                  close();
                  add(id);
                }}
              />
            )}
          </Popover>
          {visible.length > 1 && visible.length <= Math.min(FEW, room) && (
            <button type="button" class="action" onClick={() => add(...visible.map(({ id }) => id))}>
              Add all {visible.length} others
            </button>
          )}
        </li>
      )}
    </ul>
  );
}

function Compared({ item, isFirst }: { item: RunItem; isFirst: boolean }) {
  const session = useSession();
  const { note } = runMark(item.id);
  const name = nameOf(item);
  const over = session.place.field.over.value;
  const first = { run: item.id, over: [session.run.now.value?.id ?? "", ...over.filter((id) => id !== item.id)] };
  return (
    <>
      <RunName item={item} />
      {isFirst ? (
        <small class="quiet">the others are compared with it</small>
      ) : (
        <a
          href={session.place.href(first)}
          onClick={session.place.onLink(first)}
          title="Compare the others with this run"
          aria-label={`put first: ${name}`}
        >
          put first
        </a>
      )}
      {note !== "" && (
        <small class={style["note"]}>
          <Text text={note} />
        </small>
      )}
      <Popover
        label={`Name, colour and note of ${name}`}
        title="Name, colour, note"
        button={<Icon sign="more" size={16} />}
        buttonClass={`action ${style["icon"]}`}
      >
        {(close) => <RunEditor item={item} done={close} />}
      </Popover>
      {!isFirst && (
        <button
          type="button"
          class={`action ${style["icon"]}`}
          aria-label={`Take ${name} out`}
          title="Take it out"
          onClick={() => session.overlays.toggle(item.id)}
        >
          ×
        </button>
      )}
    </>
  );
}

function AddRun({ others, add }: { others: readonly RunItem[]; add: (id: string) => void }) {
  const [text, setText] = useState("");
  const [marked, mark] = useState(0);
  const matches = matchingRuns(others, text);
  const shown = matches.slice(0, MOST_MATCHES);
  return (
    <div class={style["adding"]}>
      <Finder
        label="Find a run to add"
        placeholder={`Find among ${count(others.length, "other run")}`}
        class={undefined}
        {...{ text, setText, marked, mark }}
        list={LIST_ID}
        count={shown.length}
        choose={(row) => {
          const item = shown[row];
          if (item !== undefined) add(item.id);
        }}
      />
      <div id={LIST_ID} role="listbox" aria-label="Other runs" class={style["matches"]}>
        {shown.map((item, row) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field above has the keys
          <div
            key={item.id}
            id={rowId(LIST_ID, row)}
            role="option"
            tabIndex={-1}
            aria-selected={row === Math.min(marked, shown.length - 1)}
            onClick={() => add(item.id)}
          >
            <RunName item={item} />
            <small class="quiet">{count(samplesOf(item), "sample")}</small>
          </div>
        ))}
      </div>
      <p class="quiet" role="status">
        {matches.length === 0
          ? "No run matches."
          : matches.length > shown.length
            ? `${count(matches.length - shown.length, "more run")}: type more letters`
            : ""}
      </p>
    </div>
  );
}
