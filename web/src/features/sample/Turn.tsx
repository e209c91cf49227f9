/** A turn of the conversation: who speaks, what is said, and what is known about it. */

import type { TurnView } from "../../api/types.gen";
import { count, figure, score } from "../../lib/numbers";
import { blocks, gist, isAllThought, verbatim } from "../../lib/parts";
import { Box } from "../../ui/Box";
import { Copy } from "../../ui/Copy";
import { BlockView } from "./BlockView";
import { useFold } from "./folds";
import { Section } from "./Section";
import style from "./Turn.module.css";

/** A longer system prompt is folded: it is the same in every sample. */
const SYSTEM_CHARS = 160;

/** The margin beside a turn holds so many; the raw record has all. */
const METRICS = 40;

/** A Map, not an object: roles come from files, and one may be called `__proto__`. */
const NAMES: ReadonlyMap<string, string> = new Map([["system", "System"], ["user", "User"], ["assistant", "Assistant"], ["tool", "Tool"]]);

interface Props {
  turn: TurnView;
  /** Which of the assistant's turns it is, where there are several. */
  number: number | null;
  isLast?: boolean;
}

export function Turn({ turn, number }: Props) {
  const isUsuallyOpen = turn.role !== "system" || turn.chars <= SYSTEM_CHARS;
  const [isOpen, open] = useFold(isUsuallyOpen);
  const metrics = Object.entries(turn.metrics);
  const name = NAMES.get(turn.role) ?? (turn.role || "Text");
  return (
    <Section
      name={name}
      label={number === null ? name : `${name}, turn ${number}`}
      role={turn.role}
      fold={{ isOpen, open }}
      class={style["turn"]}
      tool={<Copy class={style["copy"]} what={`the text of this turn (${name})`} text={() => verbatim(turn)} />}
      margin={
        <>
          {turn.name !== "" && <span>{turn.name}</span>}
          {number !== null && <span>turn {number}</span>}
          <span>{turn.tokens === null ? count(turn.chars, "character") : count(Number(turn.tokens), "token")}</span>
          {turn.reward !== null && <span>reward {score(turn.reward)}</span>}
          {turn.stop_reason !== "" && <span>{turn.stop_reason}</span>}
          {turn.tool_call_id !== "" && <span class={style["call"]}>{turn.tool_call_id}</span>}
          {metrics.slice(0, METRICS).map(([metric, value]) => (
            <span key={metric}>{metric} {figure(value, "none")}</span>
          ))}
          {metrics.length > METRICS && <span>{figure(metrics.length - METRICS)} more in the raw record</span>}
        </>
      }
    >
      {isOpen ? <Open turn={turn} label={`Text: ${name}`} /> : (
        <button type="button" class={style["gist"]} title="Unfold" onClick={() => open(true)}>
          {gist(turn)}
        </button>
      )}
    </Section>
  );
}

function Open({ turn, label }: { turn: TurnView; label: string }) {
  const found = blocks(turn.parts);
  if (found.length === 0) return <span class="quiet">(empty)</span>;
  const isAll = isAllThought(turn);
  return (
    <Box label={label} class={turn.role === "tool" ? style["tool"] : undefined}>
      {found.map((block, i) => (
        // The blocks of a turn never change their order: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <BlockView key={i} block={block} isThoughtOpen={isAll} />
      ))}
    </Box>
  );
}
