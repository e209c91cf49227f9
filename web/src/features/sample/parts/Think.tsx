/**
 * A thought: unfolded, in its quiet colour. A long one folds to a line with its beginning; all do, if the reader
 * prefers that.
 */

import { useSession } from "../../../state/useSession";
import type { PartView } from "../../../api/types.gen";
import { count } from "../../../lib/numbers/numbers";
import { opening } from "../../../lib/sample/parts";
import { render } from "../../../state/browser/textOptions";
import { Hidden } from "../../../ui/layout/Hidden";
import { Rich } from "../../../ui/text/Rich";
import { useFold } from "../transcript/useFold";
import { Text } from "../../../ui/text/Text";
import style from "./Think.module.css";

const OPENING_CHARS = 80;

/** About a screen: a shorter thought is not foldable on its own. */
const LONG_CHARS = 2_400;
const LONG_LINES = 30;

const isLong = (text: string): boolean =>
  text.length > LONG_CHARS || text.split("\n", LONG_LINES + 1).length > LONG_LINES;

/** `isAlone`: a turn with nothing but this thought stays unfolded in any case. */
export function Think({ part, at, isAlone }: { part: PartView; at: string; isAlone: boolean }) {
  const session = useSession();
  const [isOpen, open] = useFold(isAlone || !render.value.folded, at);
  const { text } = part;
  const words = `Thought · ${count(text.trim().length, "character")}${part.closed ? "" : ", without an end"}`;
  return (
    <div class={style["think"]}>
      {isOpen && !isLong(text) && !render.value.folded ? (
        <span class={style["summary"]}>{words}</span>
      ) : (
        <button type="button" class={style["summary"]} aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          <span class={style["mark"]} aria-hidden="true">
            {isOpen ? "▾" : "▸"}
          </span>{" "}
          {words}
          {!isOpen && text !== "" && (
            <>
              : “
              <span>
                <Text text={opening(text, OPENING_CHARS)} />
              </span>
              ”
            </>
          )}
        </button>
      )}
      {(isOpen || session.sample.isNative.value) && (
        <Hidden isHidden={!isOpen} onFound={() => open(true)}>
          <div class={style["text"]}>
            <Rich text={text} at={at} />
          </div>
        </Hidden>
      )}
    </div>
  );
}
