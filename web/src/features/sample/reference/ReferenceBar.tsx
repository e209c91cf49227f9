/**
 * The bar above a sample with a reference: whether both are side by side, whether differences are marked, and what the
 * marks mean.
 */

import type { SampleReply } from "../../../api/types.gen";
import type { Marked } from "../../../lib/diff/sampleDiff";
import { chooseRender, render } from "../../../state/browser/textOptions";
import style from "./ReferenceBar.module.css";

export function ReferenceBar({ reply, result }: { reply: SampleReply; result: Marked | { refused: string } | null }) {
  const { beside, differences } = render.value;
  const isCut = [...reply.turns, ...(reply.reference?.turns ?? [])].some(({ parts }) =>
    parts.some(({ cut }) => cut > 0),
  );
  return (
    <div class={style["bar"]} role="group" aria-label="Reference">
      <button
        type="button"
        class="action"
        aria-pressed={beside}
        title="Shows prompt, response and reference side by side if there is room"
        onClick={() => chooseRender({ beside: !beside })}
      >
        Side by side
      </button>
      <button
        type="button"
        class="action"
        aria-pressed={differences}
        title="Marks the words that differ between response and reference; both are then verbatim"
        onClick={() => chooseRender({ differences: !differences })}
      >
        Differences
      </button>
      <span role="status">
        {differences && <Summary result={result} />}
        {differences && result !== null && isCut && " · only the visible part of cut texts was compared"}
      </span>
    </div>
  );
}

function Summary({ result }: { result: Marked | { refused: string } | null }) {
  if (result !== null && "refused" in result) return <>Not compared: {result.refused}. Both are shown as they are.</>;
  if (result?.spans.size === 0) return <>Response and reference are the same.</>;
  // Known facts appear at once: the lines below must not move when the rest arrives.
  return (
    <>
      {result?.by === "sentences" && "They differ too much to compare words, so sentences are marked: "}
      <ins class="differs">underlined</ins> is not in the reference, <del class="differs">struck</del> not in the
      response ·{" "}
      {result === null ? "comparing the two …" : `${Math.round(result.share * 100)}% of the response is in both`}
    </>
  );
}
