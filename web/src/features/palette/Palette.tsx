/** The command palette: type a few letters of anything, and press Enter. */

import { useSession } from "../../state/useSession";
import { useMemo, useState } from "preact/hooks";
import { Dialog } from "../../ui/overlay/Dialog";
import { Finder, rowId } from "../../ui/controls/Finder";
import { find, type Found, MOST, paletteOpen } from "./palette";
import style from "./Palette.module.css";

const close = (): void => {
  paletteOpen.value = false;
};

export function Palette() {
  return (
    <Dialog label="Find anything" isOpen={paletteOpen.value} close={close} class={style["palette"]} isHigh>
      <Card />
    </Dialog>
  );
}

function Card() {
  const session = useSession();
  const [text, setText] = useState("");
  const [marked, mark] = useState(0);
  const results = useMemo(() => find(session, text), [session, text]);
  const here = Math.min(marked, results.length - 1);
  const choose = (one: Found | undefined): void => {
    if (one === undefined) return;
    close();
    // After the dialog has returned the focus: the action may move it.
    queueMicrotask(one.choice.act);
  };
  return (
    <>
      <Finder
        label="Find a page, a run, a step, a sample, a metric, a bookmark, or something to do"
        placeholder="A page, run, step, sample id, metric, bookmark, or something to do"
        class={style["field"]}
        list="found"
        count={results.length}
        choose={(row) => choose(results[row])}
        {...{ text, setText, marked: here, mark }}
      />
      <div id="found" role="listbox" aria-label="Found" class={style["found"]}>
        {results.map((one, i) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field above has focus and keys
          <div
            // By its index: in Chromium 156, a row that moves and is marked at once keeps its old colours.
            key={i}
            id={rowId("found", i)}
            role="option"
            tabIndex={-1}
            aria-selected={i === here}
            class={style["one"]}
            ref={(element) => {
              if (i === here) element?.scrollIntoView({ block: "nearest" });
            }}
            onClick={() => choose(one)}
          >
            <small>{one.choice.kind}</small>
            <span class="clip">{lettered(one)}</span>
            {one.choice.kind === "do" ? (
              one.choice.more !== "" && <kbd>{one.choice.more}</kbd>
            ) : (
              <em class="clip">{one.choice.more}</em>
            )}
          </div>
        ))}
      </div>
      <p class={style["foot"]} role="status">
        {results.length === 0
          ? "Nothing matches."
          : results.length === MOST
            ? `The best ${MOST}: type more letters for others`
            : ""}
      </p>
    </>
  );
}

/** The words with the matching letters emphasised. */
function lettered({ choice: { words }, at }: Found) {
  const marks = new Set(at);
  const parts: { text: string; isMark: boolean; from: number }[] = [];
  Array.from({ length: words.length }, (_, i) => i).forEach((i) => {
    const isMark = marks.has(i);
    const last = parts.at(-1);
    if (last !== undefined && last.isMark === isMark) last.text += words.charAt(i);
    else parts.push({ text: words.charAt(i), isMark, from: i });
  });
  return parts.map(({ text, isMark, from }) => (isMark ? <b key={from}>{text}</b> : text));
}
