/** A line of labelled figures; if there are many, one or two lines and a button for the rest. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SampleReply } from "../../api/types.gen";
import { type Labelled, labelled } from "../../lib/sample/facts";
import { figure } from "../../lib/numbers/numbers";
import { isDoubtful, share, shareOf, stop } from "../../lib/colour/scales";
import { Text } from "../../ui/text/Text";
import { harmless } from "../../lib/text/invisible";
import style from "./Facts.module.css";

/** Two lines of the widest screen have room for no more. */
const FOLDED = 60;
/** The number of further figures to draw at a time: a record may have a hundred thousand. */
const BATCH = 600;

interface Props {
  reply: SampleReply;
  /** True for one line, beside something that needs the room. */
  isBrief?: boolean;
}

export function Facts({ reply, isBrief = false }: Props) {
  const session = useSession();
  const list = useRef<HTMLDListElement>(null);
  const [hides, setHides] = useState(false);
  const [shown, show] = useState(FOLDED);
  const isOpen = shown > FOLDED;
  const group = reply.advantage === null ? session.browse.groupHere.value : null;
  const all = useMemo(() => labelled(reply, group), [reply, group]);
  const telling = all.filter((fact) => !isDull(session, fact));
  const dull = all.length - telling.length;
  const [isWhole, showWhole] = useState(false);
  const facts = isWhole ? all : telling;

  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    // Only the observer reads sizes: reading them earlier would lay everything out twice.
    const observer = new ResizeObserver(() => setHides(element.scrollHeight > element.clientHeight + 2));
    observer.observe(element);
    return () => observer.disconnect();
  }, [reply, isOpen, isBrief]);

  return (
    <div class={`${style["all"]} ${hides && !isOpen ? style["hides"] : ""}`}>
      <dl ref={list} class={`${style["facts"]} ${isOpen ? style["open"] : isBrief ? style["brief"] : ""}`}>
        {facts.slice(0, shown).map((fact, i) => (
          // Two facts may have the same name; their index identifies them.
          <div key={`${i} ${fact.label}`} title={harmless(`${fact.name ?? fact.label}: ${fact.title}`)}>
            <dt>
              <Text text={fact.label} />
            </dt>
            <dd
              class={fact.tone === "warn" ? style["warn"] : fact.tone === "tag" ? style["tag"] : undefined}
              style={{ color: ink(session, fact) }}
            >
              <Value fact={fact} />
            </dd>
          </div>
        ))}
      </dl>
      {isOpen && facts.length > shown && (
        <button type="button" class={`action ${style["more"]}`} onClick={() => show(shown + BATCH)}>
          {`More facts: ${figure(facts.length - shown)} left`}
        </button>
      )}
      {isOpen && dull > 0 && (
        <button type="button" class={`action ${style["more"]}`} onClick={() => showWhole(!isWhole)}>
          {isWhole ? "Hide zeros and constants" : `Zeros and constants: ${figure(dull)}`}
        </button>
      )}
      {(hides || isOpen || facts.length > FOLDED) && (
        <button
          type="button"
          class={`action ${style["more"]}`}
          aria-expanded={isOpen}
          onClick={() => show(isOpen ? FOLDED : BATCH)}
        >
          {isOpen ? "Show fewer" : `Show all ${figure(facts.length)}`}
        </button>
      )}
    </div>
  );
}

/** A value; if filters know its figure, a press offers to filter the list by it. */
function Value({ fact: { text, field, by } }: { fact: Labelled }) {
  const session = useSession();
  if (field === undefined || by === undefined || session.columns.named(field) === null) return <Text text={text} />;
  return (
    <button
      type="button"
      class={style["pick"]}
      aria-haspopup="menu"
      onClick={(event) => session.filter.offerFilter(field, by, event.currentTarget)}
    >
      <Text text={text} />
    </button>
  );
}

/** Figures for which zero means something. */
const GRADED = /reward|score|correct|acc|pass|success/i;

/** True for a plain number that is the same in all samples of the run, and for a metric of zero that grades nothing. */
function isDull(session: Session, { label, name = label, tone, value = null, field }: Labelled): boolean {
  if (tone === "metric") return value === 0 && !GRADED.test(name) && !session.ranges.metrics.value.has(name);
  const column = tone !== undefined || field === undefined ? null : session.columns.named(field);
  return column?.kind === "number" && column.low !== null && column.low === column.high;
}

function ink(session: Session, { label, name = label, tone, value = null }: Labelled): string | undefined {
  if (tone === "advantage" && value) return `var(--advantage-ink-${value > 0 ? "pos" : "neg"})`;
  const range = tone === "metric" ? session.ranges.metrics.value.get(name) : undefined;
  if (range && isDoubtful(name, range.worst, range.best)) return undefined;
  const at = range
    ? shareOf(value, range.worst, range.best)
    : tone === "reward"
      ? share(value, session.ranges.reward.value)
      : null;
  return at === null ? undefined : `var(--reward-ink-${stop(at)})`;
}
