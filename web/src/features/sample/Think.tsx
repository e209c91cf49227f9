/** A thought: folded to one line that says how long it is and how it begins. */

import type { PartView } from "../../api/types.gen";
import { count } from "../../lib/numbers";
import { opening } from "../../lib/parts";
import { isNative } from "../../state/sample";
import { Hidden } from "../../ui/Hidden";
import { Rich } from "../../ui/Rich";
import { useFold } from "./folds";
import { Text } from "../../ui/Text";
import style from "./Think.module.css";

const OPENING_CHARS = 80;

export function Think({ part, at, isUsuallyOpen }: { part: PartView; at: string; isUsuallyOpen: boolean }) {
  const [isOpen, open] = useFold(isUsuallyOpen, at);
  const { text } = part;
  const end = part.closed ? "" : ", without an end";
  return (
    <div class={style["think"]}>
      <button type="button" class={style["summary"]} aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        <span class={style["mark"]} aria-hidden="true">{isOpen ? "▾" : "▸"}</span> Thought for {count(text.trim().length, "character")}
        {end}
        {!isOpen && text !== "" && (
          <>
            : “<span><Text text={opening(text, OPENING_CHARS)} /></span>”
          </>
        )}
      </button>
      {(isOpen || isNative.value) && (
        <Hidden isHidden={!isOpen} found={() => open(true)}>
          <div class={style["text"]}><Rich text={text} at={at} /></div>
        </Hidden>
      )}
    </div>
  );
}
