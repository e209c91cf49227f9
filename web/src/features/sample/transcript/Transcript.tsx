/** A sample as a conversation, with its answer, reference, other fields, notes and source. */

import { useSession } from "../../../state/useSession";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isAlone } from "../../../api";
import type { SampleReply, TurnView } from "../../../api/types.gen";
import type { Place } from "../../../lib/address/address";
import { answerOf } from "../../../lib/sample/answer";
import { whereIn } from "../../../lib/sample/facts";
import { figure } from "../../../lib/numbers/numbers";
import { render } from "../../../state/browser/textOptions";
import { type Page } from "../../../state/sample/sample";
import { Beside } from "../reference/SideBySide";
import { Extra } from "../parts/Extra";
import { Golden } from "../parts/GoldenAnswer";
import { ReferenceBar } from "../reference/ReferenceBar";
import { ReferenceSection } from "../reference/ReferenceSection";
import { responseAt } from "./responseAt";
import { Turn } from "./Turn";
import { useEnd } from "./useEnd";
import { useDifferences } from "../reference/useDifferences";
import { Text } from "../../../ui/text/Text";
import style from "./Transcript.module.css";

const AT_ONCE = 40;
const BLOCK = 20;
/** The most turns to draw in a frame, and the time for that: layout comes on top. */
const MOST = 80;
/** The most text that a frame draws. */
const MOST_CHARS = 500_000;
/** A text of a few screens. */
const SMALL_CHARS = 10_000;
const QUICK_MS = 8;
const SLOW_MS = 20;

interface Props {
  reply: SampleReply;
  /** True below the table of tokens: the text then opens at its start. */
  isBelow?: boolean;
}

export function Transcript({ reply, isBelow = false }: Props) {
  const session = useSession();
  const { source, notes } = reply;
  const shown = session.sample.pageOf(reply);
  const { turns, turn_from: from, turn_total: total } = shown;
  const drawn = useMore(turns);
  const numbers = useMemo(() => numbersOf(turns, total), [turns, total]);
  const isEnd = from + turns.length >= total;
  const isCompared = reply.reference !== null && reply.reference.turns.length > 0;
  const isSmall = !isCompared && reply.chars <= SMALL_CHARS;
  const isBeside = isCompared && turns.length === total && responseAt(turns) < total && render.value.beside;
  // Beside a reference there are two columns of turns, otherwise one.
  const [prompt, response] = useMemo<[Blocks, Blocks]>(() => {
    const all = turns.length === total ? counted(turns, reply) : turns;
    const cut = isBeside ? responseAt(turns) : 0;
    const of = (start: number, stop: number): Blocks => ({
      turns: all.slice(start, stop),
      numbers: numbers.slice(start, stop),
      from: from + start,
      nodes: [],
    });
    return [of(0, cut), of(cut, turns.length)];
  }, [turns, total, reply, numbers, from, isBeside]);
  const differences = useDifferences(reply);
  const isAll = drawn >= turns.length && isEnd;
  const [article, end] = useEnd(isBelow);
  const answered = (
    <>
      {nodesOf(response, drawn - prompt.turns.length)}
      {isAll && <div ref={end} />}
    </>
  );
  const answer = useMemo(() => (isEnd ? answerOf(turns) : ""), [turns, isEnd]);
  return (
    <article
      ref={article}
      class={`${style["transcript"]} ${isBeside ? style["wide"] : ""} ${isSmall ? style["small"] : ""}`}
      data-beside={isBeside || undefined}
    >
      {from === 0 && <Golden label={reply.label} answer={answer} />}
      {notes.length > 0 && (
        <ul class={style["notes"]} aria-label="Notes on this sample">
          {notes.map((note, i) => (
            <li key={`${i} ${note}`} class={note.includes("\n") ? style["trace"] : undefined}>
              <Noted note={note} to={{ page: "report", split: reply.split, step: reply.step, at: reply.report_at }} />
            </li>
          ))}
        </ul>
      )}
      {isCompared && <ReferenceBar reply={reply} result={differences} />}
      {total > turns.length && <Pages shown={shown} isAbove />}
      {isBeside ? (
        <Beside
          prompt={prompt.turns.length > 0 ? nodesOf(prompt, drawn) : null}
          response={answered}
          reference={isAll ? reply.reference : null}
        />
      ) : (
        answered
      )}
      {total === 0 && (
        <p class={style["none"]}>This record has no recognisable turn. The raw record shows all of it.</p>
      )}
      {total > turns.length && drawn >= turns.length && <Pages shown={shown} />}
      {!isBeside && isAll && reply.reference !== null && <ReferenceSection reference={reply.reference} />}
      {drawn >= turns.length && (
        <>
          <Extra extra={reply.extra} images={reply.extra_images} />
          <footer class={style["source"]}>
            <Text text={source.file} /> · {whereIn(source)}
          </footer>
        </>
      )}
    </article>
  );
}

/** The turns with their token counts; a single turn gets the count of its whole side of the sample. */
function counted(turns: readonly TurnView[], { prompt_tokens, response_tokens }: SampleReply): readonly TurnView[] {
  const only = (origin: string): TurnView | undefined =>
    turns.filter((turn) => turn.origin === origin).length === 1
      ? turns.find((turn) => turn.origin === origin)
      : undefined;
  const tokensOf = new Map([
    [only("prompt"), prompt_tokens],
    [only("response"), response_tokens],
  ]);
  return turns.map((turn) =>
    turn.tokens === null && (tokensOf.get(turn) ?? null) !== null
      ? { ...turn, tokens: tokensOf.get(turn) ?? null }
      : turn,
  );
}

/** The words with which a format notes that the trainer's report of the step has more. */
const REPORT = "the report";

/** A note of the format on a sample; if it names the report of the step, it links there, to its trajectory if known. */
function Noted({ note, to }: { note: string; to: Partial<Place> }) {
  const session = useSession();
  const at = note.search(/(?<= is (?:in|from) )the report(?=$|: )/);
  if (isAlone() || at < 0) return <Text text={note} />;
  return (
    <>
      <Text text={note.slice(0, at)} />
      <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
        {REPORT}
      </a>
      <Text text={note.slice(at + REPORT.length)} />
    </>
  );
}

/** The current turns of a very long sample, and links to the others. */
function Pages({ shown, isAbove = false }: { shown: Page; isAbove?: boolean }) {
  const session = useSession();
  const { turns, turn_from: from, turn_total: total } = shown;
  const stop = from + turns.length;
  return (
    <nav class={style["pages"]} aria-label={isAbove ? "Turns before these" : "Turns after these"}>
      <span>
        Turns {figure(from + 1)}–{figure(stop)} of {figure(total)}
      </span>
      {from > 0 && (
        <button type="button" class="action" onClick={() => void session.sample.goTurns({ from: 0 })}>
          First
        </button>
      )}
      {from > 0 && (
        <button type="button" class="action" onClick={() => void session.sample.goTurns({ until: from })}>
          Before
        </button>
      )}
      {stop < total && (
        <button type="button" class="action" onClick={() => void session.sample.goTurns({ from: stop })}>
          After
        </button>
      )}
      {stop < total && (
        <button type="button" class="action" onClick={() => void session.sample.goTurns({ until: total })}>
          Last
        </button>
      )}
      {session.sample.pageError.value !== null && <span role="alert">{session.sample.pageError.value.message}</span>}
    </nav>
  );
}

interface Blocks {
  turns: readonly TurnView[];
  numbers: readonly (number | null)[];
  /** The number of the first turn within the sample. */
  from: number;
  nodes: VNode[];
}

/** Some turns, in blocks; drawn blocks keep their nodes and are not compared again. */
function nodesOf({ turns, numbers, from, nodes }: Blocks, drawn: number): VNode[] {
  const starts = startsOf(turns);
  const count = starts.filter((start) => start < drawn).length;
  for (const [n, start] of starts.entries())
    if (n >= nodes.length && n < count)
      nodes.push(
        <Block
          key={from + start}
          turns={turns.slice(start, starts[n + 1])}
          numbers={numbers}
          offset={start}
          from={from}
        />,
      );
  return nodes.slice(0, count);
}

/** The starts of blocks of turns: a block ends after a number of turns or of characters. */
function startsOf(turns: readonly TurnView[]): number[] {
  const starts: number[] = [];
  for (let at = 0; at < turns.length; at = reach(turns, at, BLOCK)) starts.push(at);
  return starts;
}

/** The end of the next turns that fit in a frame, by their number or their text. */
function reach(turns: readonly TurnView[], from: number, most: number): number {
  let [at, chars] = [from, 0];
  while (at < turns.length && at < from + most && chars < MOST_CHARS) {
    chars += turns[at]?.chars ?? 0;
    at += 1;
  }
  return at;
}

function Block({ turns, numbers, offset, from }: Omit<Blocks, "nodes"> & { offset: number }) {
  return (
    <>
      {turns.map((turn, i) => (
        // The turns of a sample never change their order, so their index identifies them.
        <Turn key={i} turn={turn} at={String(from + offset + i)} number={numbers[offset + i] ?? null} />
      ))}
    </>
  );
}

/** Draws a few turns at once and the rest frame by frame, as many as a frame has time for. */
function useMore(turns: readonly TurnView[]): number {
  const [{ of, drawn, by }, setDrawn] = useState(() => ({ of: turns, drawn: reach(turns, 0, AT_ONCE), by: BLOCK }));
  const now = of === turns ? drawn : reach(turns, 0, AT_ONCE);
  const begun = useRef(0);
  const took = useRef(0);
  useLayoutEffect(() => {
    if (begun.current > 0) took.current = performance.now() - begun.current;
  }, [drawn, of]);
  useEffect(() => {
    if (now >= turns.length) return undefined;
    const frame = requestAnimationFrame(() => {
      const next = took.current > SLOW_MS ? BLOCK : Math.min(MOST, took.current < QUICK_MS ? by + BLOCK : by);
      begun.current = performance.now();
      setDrawn({ of: turns, drawn: reach(turns, now, next), by: next });
    });
    return () => cancelAnimationFrame(frame);
  }, [now, turns, by]);
  return Math.min(now, turns.length);
}

/** Numbers of the assistant's turns, if there are several; on a page from the middle they are unknown. */
function numbersOf(turns: readonly TurnView[], total: number): (number | null)[] {
  let answers = 0;
  const numbers = turns.map((turn) => (turn.role === "assistant" ? (answers += 1) : null));
  return answers < 2 || turns.length < total ? turns.map(() => null) : numbers;
}
