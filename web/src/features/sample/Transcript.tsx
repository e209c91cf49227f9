/** A sample as a conversation, and what belongs to it: answer, reference, other fields, notes, source. */

import { useEffect, useState } from "preact/hooks";
import type { SampleReply, TurnView } from "../../api/types.gen";
import { figure, size } from "../../lib/numbers";
import { Extra } from "./Extra";
import { Golden } from "./Golden";
import { ReferenceSection } from "./ReferenceSection";
import { Turn } from "./Turn";
import style from "./Transcript.module.css";

const AT_ONCE = 40;
const A_FRAME = 120;

export function Transcript({ reply }: { reply: SampleReply }) {
  const { source, notes, turns } = reply;
  const drawn = useMore(turns.length);
  return (
    <article class={style["transcript"]}>
      <Golden label={reply.label} />
      {notes.length > 0 && (
        <ul class={style["notes"]} aria-label="Notes on this sample">
          {notes.map((note, i) => (
            // oxlint-disable-next-line react/no-array-index-key -- a note may be said twice
            <li key={`${i} ${note}`}>{note}</li>
          ))}
        </ul>
      )}
      {turns.slice(0, drawn).map((turn, i) => (
        // The turns of a sample never change their order: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <Turn key={i} turn={turn} number={numberOf(turns, i)} isLast={i === turns.length - 1} />
      ))}
      {turns.length === 0 && <p class={style["none"]}>This record holds no text that is known as a turn. Its raw record shows all of it.</p>}
      {drawn >= turns.length && (
        <>
          {reply.reference !== null && <ReferenceSection reference={reply.reference} />}
          <Extra extra={reply.extra} />
          <footer class={style["source"]}>
            {source.file} · bytes {figure(source.start)}–{figure(source.stop)} ({size(source.stop - source.start)}){source.part !== "" && ` · ${source.part}`}
          </footer>
        </>
      )}
    </article>
  );
}

/** A few turns are drawn at once, the rest frame by frame, so that thousands of them do not hold up the first. */
function useMore(total: number): number {
  const [drawn, setDrawn] = useState(AT_ONCE);
  useEffect(() => {
    if (drawn >= total) return undefined;
    const frame = requestAnimationFrame(() => setDrawn(drawn + A_FRAME));
    return () => cancelAnimationFrame(frame);
  }, [drawn, total]);
  return drawn;
}

/** Assistant turns are counted where there are several. */
function numberOf(turns: readonly TurnView[], index: number): number | null {
  if (turns[index]?.role !== "assistant") return null;
  const own = turns.filter((turn) => turn.role === "assistant");
  return own.length < 2 ? null : turns.slice(0, index + 1).filter((turn) => turn.role === "assistant").length;
}
