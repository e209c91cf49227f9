/** A text of many lines, of which the first and the last are shown, and more on demand. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useState } from "preact/hooks";
import { count } from "../../../lib/numbers/numbers";
import type { Piece } from "../../../lib/sample/parts";
import { ends } from "../../../lib/text/ends";
import { render } from "../../../state/browser/textOptions";
import { Hidden } from "../../../ui/layout/Hidden";
import { Text } from "../../../ui/text/Text";
import { Cut } from "./Cut";
import style from "./Lines.module.css";

const MORE_LINES = 50;

interface Props {
  part: Pick<Piece, "text" | "shift" | "styles" | "cut">;
  /** What the text is, for people who hear the page. */
  what: string;
  at?: string;
  /** Lines of all of the result that mention an error. */
  errorLines?: number;
}

export function Lines({ part: { text, shift, styles, cut }, what, at = "", errorLines = 0 }: Props) {
  const session = useSession();
  const [more, setMore] = useState(0);
  const isMarked = useComputed(() => at !== "" && session.highlights.isMarked(at)).value;
  const shown = ends(text, more);
  const piece = (start: number, stop = text.length) => (
    <Text text={text.slice(start, stop)} at={at === "" ? undefined : at} shift={shift + start} styles={styles} />
  );
  if (shown === null || isMarked || render.value.visible)
    return (
      <>
        {piece(0)}
        <Cut cut={cut} />
      </>
    );
  const { head, tail, lines } = shown;
  return (
    <>
      {piece(0, head)}
      <div class={style["between"]}>
        <span>{lines > 0 ? `${count(lines, "line")} between` : `${count(tail - head, "character")} between`}</span>
        {lines > MORE_LINES && (
          <button type="button" class="action" onClick={() => setMore(more + MORE_LINES)}>
            show {MORE_LINES} more
          </button>
        )}
        <button type="button" class="action" aria-label={`Show all of the ${what}`} onClick={() => setMore(Infinity)}>
          show all
        </button>
        {errorLines > 0 && (
          <span class={style["errors"]}>{count(errorLines, "line mentions", "lines mention")} an error</span>
        )}
      </div>
      {session.sample.isNative.value && (
        <Hidden isHidden onFound={() => setMore(Infinity)}>
          {piece(head, tail)}
        </Hidden>
      )}
      {piece(tail)}
      <Cut cut={cut} />
    </>
  );
}
