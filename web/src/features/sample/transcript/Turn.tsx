/** A turn of the conversation: the speaker, the text, and facts about it. */

import { ungradedTurn } from "../../../lib/sample/blind";
import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { TurnView } from "../../../api/types.gen";
import { charsOfTurn } from "../../../lib/text/endings";
import { factText } from "../../../lib/sample/facts";
import { count, figure, score } from "../../../lib/numbers/numbers";
import { blocks, gist, isAllThought, verbatim } from "../../../lib/sample/parts";
import { bareName, commonPrefix } from "../../../lib/list/metricNames";
import { errorOf } from "../../../lib/sample/errorOf";
import { render } from "../../../state/browser/textOptions";
import { Box } from "../../../ui/layout/Box";
import { Copy } from "../../../ui/controls/Copy";
import { Hidden } from "../../../ui/layout/Hidden";
import { Text } from "../../../ui/text/Text";
import { harmless } from "../../../lib/text/invisible";
import { BlockView } from "./BlockView";
import { useFold } from "./useFold";
import { Logs, Words, wordsOf } from "./Logs";
import { Section } from "./Section";
import style from "./Turn.module.css";

/** A longer system prompt is folded: it is the same in every sample. */
const SYSTEM_CHARS = 100;

/** The most facts in the margin beside a turn; the raw record has all. */
const METRICS = 40;

/** A Map, not an object: roles come from files, and one may be named `__proto__`. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["system", "System"],
  ["developer", "Developer"],
  ["user", "User"],
  ["assistant", "Assistant"],
  ["tool", "Tool"],
]);

interface Props {
  turn: TurnView;
  /** The name of the turn: `12`, or `ref0` for one of the reference. */
  at: string;
  /** The number among the assistant's turns, if there are several. */
  number: number | null;
}

export function Turn(props: Props) {
  const session = useSession();
  const { isBlind } = session.judging;
  const isInCall = useComputed(() => session.sample.answers.value.has(Number(props.at))).value;
  if (isInCall || (props.turn.role === "system" && !render.value.system)) return null;
  return <Shown {...props} turn={isBlind.value ? ungradedTurn(props.turn) : props.turn} />;
}

function Shown({ turn, at, number }: Props) {
  const session = useSession();
  const isUsuallyOpen = turn.role !== "system" || turn.chars <= SYSTEM_CHARS;
  const [isOpen, open] = useFold(isUsuallyOpen, at);
  const metrics = Object.entries(turn.metrics);
  const prefix = commonPrefix(Object.keys(turn.metrics));
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
          {turn.name !== "" && (
            <span title={harmless(turn.name)}>
              <Text text={turn.name} />
            </span>
          )}
          {number !== null && <span>turn {number}</span>}
          <span>
            {turn.tokens === null ? count(charsOfTurn(turn), "character") : count(Number(turn.tokens), "token")}
          </span>
          {turn.reward !== null && <span>reward {score(turn.reward)}</span>}
          {errorOf(turn.logs) !== "" && <span class={style["error"]}>error</span>}
          {turn.stop_reason !== "" && (
            <span>
              <Text text={turn.stop_reason} />
            </span>
          )}
          {turn.tool_call_id !== "" && (
            <span class={style["call"]}>
              <Text text={turn.tool_call_id} />
            </span>
          )}
          {Object.entries(turn.facts).map(([fact, value]) => (
            <span key={`own ${fact}`}>
              <Text text={fact} /> <Text text={factText(value)} />
            </span>
          ))}
          {metrics.slice(0, METRICS).map(([metric, value]) => (
            <span key={metric} title={harmless(`${metric} ${figure(value, "none")}`)}>
              <Text text={bareName(metric, prefix)} /> {figure(value, "none")}
            </span>
          ))}
          {metrics.length > METRICS && <span>{figure(metrics.length - METRICS)} more in the raw record</span>}
        </>
      }
    >
      {!isOpen && (
        <button type="button" class={style["gist"]} title="Unfold" onClick={() => open(true)}>
          <Text text={gist(turn)} />
        </button>
      )}
      {(isOpen || session.sample.isNative.value) && (
        <Hidden isHidden={!isOpen} onFound={() => open(true)}>
          <Open turn={turn} at={at} label={`Text: ${name}`} />
        </Hidden>
      )}
    </Section>
  );
}

function Open({ turn, at, label }: { turn: TurnView; at: string; label: string }) {
  const how = render.value;
  const results = useMemo(
    () => blocks(turn.parts, { ...how, markers: turn.origin === "prompt" ? how.promptMarkers : how.markers }),
    [turn, how],
  );
  const isAll = isAllThought(turn);
  const words = results.length === 0 ? wordsOf(turn.logs) : [];
  return (
    <>
      {words.length > 0 ? (
        <Words words={words} />
      ) : results.length === 0 ? (
        <span class="quiet">(empty)</span>
      ) : (
        <Box label={label} class={turn.role === "tool" ? style["tool"] : undefined}>
          {results.map((block) => (
            <BlockView key={block.parts[0]?.place} block={block} turn={at} isThoughtAlone={isAll} />
          ))}
        </Box>
      )}
      {words.length === 0 && <Logs logs={turn.logs} />}
    </>
  );
}
