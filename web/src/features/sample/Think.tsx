/** A thought: folded to one line that says how long it is and how it begins. */

import type { PartView } from "../../api/types.gen";
import { count } from "../../lib/numbers";
import { opening } from "../../lib/parts";
import { Text } from "../../ui/Text";
import { useFold } from "./folds";
import style from "./Think.module.css";

const OPENING_CHARS = 80;

export function Think({ part, isUsuallyOpen }: { part: PartView; isUsuallyOpen: boolean }) {
  const [isOpen, open] = useFold(isUsuallyOpen);
  const text = part.text.trim();
  const end = part.closed ? "" : ", without an end";
  return (
    <div class={style["think"]}>
      <button type="button" class={style["summary"]} aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        <span class={style["mark"]} aria-hidden="true">{isOpen ? "▾" : "▸"}</span> Thought for {count(text.length, "character")}
        {end}
        {!isOpen && text !== "" && (
          <>
            : “<span>{opening(text, OPENING_CHARS)}</span>”
          </>
        )}
      </button>
      {isOpen && <div class={style["text"]}><Text text={text} /></div>}
    </div>
  );
}
