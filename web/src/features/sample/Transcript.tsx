/** A sample as a conversation, and what belongs to it: answer, reference, other fields, notes, source. */

import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampleReply, TurnView } from "../../api/types.gen";
import { whereIn } from "../../lib/facts";
import { figure } from "../../lib/numbers";
import { Extra } from "./Extra";
import { Golden } from "./Golden";
import { ReferenceSection } from "./ReferenceSection";
import { Turn } from "./Turn";
import style from "./Transcript.module.css";

const AT_ONCE = 40;
const A_FRAME = 120;
const BLOCK = 40;
/** More turns than so many are drawn when they are asked for. */
const BATCH = 3000;

export function Transcript({ reply }: { reply: SampleReply }) {
  const { source, notes, turns } = reply;
  const [allowed, allow] = useState(BATCH);
  const drawn = useMore(Math.min(turns.length, allowed));
  const numbers = useMemo(() => numbersOf(turns), [turns]);
  const blocks = useMemo<Blocks>(() => ({ turns, numbers, nodes: [] }), [turns, numbers]);
  const left = turns.length - allowed;
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
      {nodesOf(blocks, Math.min(drawn, allowed))}
      {turns.length === 0 && <p class={style["none"]}>This record holds no text that is known as a turn. Its raw record shows all of it.</p>}
      {left > 0 && drawn >= allowed && (
        <p class={style["none"]}>
          <button type="button" class="button" onClick={() => allow(allowed + BATCH)}>Show {figure(Math.min(BATCH, left))} more turns</button>
          {" "}{figure(left)} of {figure(turns.length)} turns are not drawn yet.
        </p>
      )}
      {drawn >= turns.length && (
        <>
          {reply.reference !== null && <ReferenceSection reference={reply.reference} />}
          <Extra extra={reply.extra} />
          <footer class={style["source"]}>
            {source.file} · {whereIn(source)}
          </footer>
        </>
      )}
    </article>
  );
}

interface Blocks {
  turns: readonly TurnView[];
  numbers: readonly (number | null)[];
  nodes: VNode[];
}

/** So many turns, in blocks; those that are there already are the same nodes, and are not looked at again. */
function nodesOf({ turns, numbers, nodes }: Blocks, drawn: number): VNode[] {
  const count = Math.ceil(Math.min(drawn, turns.length) / BLOCK);
  for (let n = nodes.length; n < count; n += 1) nodes.push(<Block key={n} turns={turns} numbers={numbers} from={n * BLOCK} />);
  return nodes.slice(0, count);
}

function Block({ turns, numbers, from }: Omit<Blocks, "nodes"> & { from: number }) {
  return (
    <>
      {turns.slice(from, from + BLOCK).map((turn, i) => (
        // The turns of a sample never change their order: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <Turn key={i} turn={turn} number={numbers[from + i] ?? null} isLast={from + i === turns.length - 1} />
      ))}
    </>
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
function numbersOf(turns: readonly TurnView[]): (number | null)[] {
  let own = 0;
  const numbers = turns.map((turn) => (turn.role === "assistant" ? (own += 1) : null));
  return own < 2 ? turns.map(() => null) : numbers;
}
