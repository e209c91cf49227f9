/** A text of many lines, of which the first and the last are shown, and more on demand. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useState } from "preact/hooks";
import type { PartView } from "../../../api/types.gen";
import { count, figure } from "../../../lib/numbers/numbers";
import { ends } from "../../../lib/text/ends";
import { render } from "../../../state/browser/textOptions";
import { Hidden } from "../../../ui/layout/Hidden";
import { Text } from "../../../ui/text/Text";
import style from "./Lines.module.css";

const MORE_LINES = 50;

interface Props {
  text: string;
  /** What the text is, for people who hear the page. */
  what: string;
  at?: string;
  styles?: PartView["styles"];
  /** Lines with a word for an error. */
  errorLines?: number;
}

export function Lines({ text, what, at = "", styles, errorLines = 0 }: Props) {
  const session = useSession();
  const [more, setMore] = useState(0);
  const isMarked = useComputed(
    () =>
      at !== "" &&
      (session.highlights.spansOf(at, "find").length > 0 ||
        session.highlights.spansOf(at, "search").length > 0 ||
        session.highlights.target.value?.span.at === at),
  ).value;
  const place = at === "" ? undefined : at;
  const cut = ends(text, more);
  if (cut === null || isMarked || render.value.visible) return <Text text={text} at={place} styles={styles} />;
  const { head, tail, lines } = cut;
  return (
    <>
      <Text text={text.slice(0, head)} at={place} styles={styles} />
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
        {errorLines > 0 && <span class={style["errors"]}>{figure(errorLines)} with a word for an error</span>}
      </div>
      {session.sample.isNative.value && (
        <Hidden isHidden onFound={() => setMore(Infinity)}>
          <Text text={text.slice(head, tail)} at={place} shift={head} styles={styles} />
        </Hidden>
      )}
      <Text text={text.slice(tail)} at={place} shift={tail} styles={styles} />
    </>
  );
}
