/** The response of a sample with the places of a finding marked, and a link that opens it with the same marks. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getSample, getSpans } from "../../api";
import type { Finding, Span, TurnView } from "../../api/types.gen";
import { scopeOf } from "../../lib/address/address";
import { figure, finite, score } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Missing } from "../../ui/layout/EmptyState";
import { rangesOf } from "../../ui/text/paint";
import { Text } from "../../ui/text/Text";
import { markedBy } from "./marked";
import style from "./Findings.module.css";

/** The lines above the first mark. */
const ABOVE_PX = 48;

const NONE: readonly Span[] = [];

const placesIn = (spans: readonly Span[], part: string): Span[] => spans.filter(({ at }) => at === part);

interface Props {
  run: string;
  id: string;
  of: Finding;
  /** The metric that counts as correctness; empty for none. */
  correct: string;
}

export function Excerpt({ run, id, of, correct }: Props) {
  const session = useSession();
  const loaded = useLoaded(`${run}\n${id}`, () => getSample(run, id));
  const reply = loaded.value;
  const search = useMemo(() => (reply === null ? null : markedBy(of, reply)), [of, reply]);
  const text = search?.text ?? "";
  const what = { text, regex: true, case: false, word: false, roles: ["response"] };
  const spans = useLoaded(text === "" ? null : `${run}\n${id}\n${text}`, () => getSpans(run, id, what));
  const scope = scopeOf(id);
  const to = {
    page: "rollouts",
    ...scope,
    sample: id,
    discarded: reply !== null && reply.discarded !== "",
    list: false,
    extent: "step",
    where: "",
    ...(search === null ? {} : { search }),
  } as const;
  const correctness = finite(reply?.facts.find(({ name }) => name === correct)?.value ?? null);
  return (
    <section class={style["excerpt"]} aria-label={`Sample ${id}`}>
      <p class={style["facts"]}>
        <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
          Step {figure(scope?.step ?? null)} · {id.split("/").slice(-2).map(decodeURIComponent).join("/")}
        </a>
        <span>
          reward <b>{score(reply?.reward, "–")}</b>
        </span>
        {spans.value !== null && spans.value.spans.length > 0 && (
          <span>
            marked <b>{figure(spans.value.spans.length)}</b>
          </span>
        )}
        {correctness !== null && (
          <span>
            <Text text={correct} /> <b>{score(correctness)}</b>
          </span>
        )}
      </p>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      <Response
        label={`Response of ${id}`}
        turns={reply?.turns ?? []}
        first={reply?.turn_from ?? 0}
        spans={spans.value?.spans ?? NONE}
      />
    </section>
  );
}

interface ResponseProps {
  label: string;
  turns: readonly TurnView[];
  /** The number of the first turn. */
  first: number;
  spans: readonly Span[];
}

/** The prompt and what the model wrote; it scrolls in its place, and begins shortly before the first mark. */
function Response({ label, turns, first, spans }: ResponseProps) {
  const box = useRef<HTMLDivElement>(null);
  const prompt = turns.findLastIndex(({ origin }) => origin === "prompt");
  useLayoutEffect(() => {
    const [span] = spans;
    const part = box.current?.querySelector(`[data-part="${span?.at}"]`);
    if (box.current === null || span === undefined || !part) return;
    const top = rangesOf(part, [span])[0]?.getBoundingClientRect().top ?? 0;
    box.current.scrollTop += top - box.current.getBoundingClientRect().top - ABOVE_PX;
  }, [spans, turns]);
  return (
    // A box that scrolls can be reached by the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class={style["response"]} ref={box} role="group" aria-label={label} tabIndex={0}>
      {turns.map(({ origin, parts }, i) =>
        i === prompt || origin === "response" ? (
          <div key={first + i} class={i === prompt ? style["prompt"] : undefined}>
            {parts.map(({ kind, text }, place) => {
              const at = `${first + i}.${place}`;
              return (
                <div key={at} data-part={at} class={kind === "think" ? style["think"] : undefined}>
                  <Text text={text.trim()} shift={text.length - text.trimStart().length} hits={placesIn(spans, at)} />
                </div>
              );
            })}
          </div>
        ) : null,
      )}
    </div>
  );
}
