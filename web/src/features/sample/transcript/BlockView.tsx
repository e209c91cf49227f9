/** A block of a turn: running text, a thought, a tool call, a tool result, data. */

import type { TurnView } from "../../../api/types.gen";
import { isRecord } from "../../../lib/data/record";
import { ungradedTurn } from "../../../lib/sample/blind";
import { factText } from "../../../lib/sample/facts";
import { type Block, blocks, type Piece } from "../../../lib/sample/parts";
import { render } from "../../../state/browser/textOptions";
import { Rich } from "../../../ui/text/Rich";
import { Text } from "../../../ui/text/Text";
import { useComputed } from "@preact/signals";
import { useSession } from "../../../state/useSession";
import { Call, CallBody } from "../parts/Call";
import { Cut } from "../parts/Cut";
import { Lines } from "../parts/Lines";
import { Picture } from "../parts/Picture";
import { Placeholder } from "../parts/Placeholder";
import { Think } from "../parts/Think";
import { Logs, Words, wordsOf } from "./Logs";
import style from "./BlockView.module.css";

interface Props {
  block: Block;
  /** The name of the turn, from which names of parts derive. */
  turn: string;
  isThoughtAlone: boolean;
}

export function BlockView({ block, turn, isThoughtAlone }: Props) {
  const part = block.parts[0];
  if (part === undefined) return null;
  const at = `${turn}.${part.place}`;
  switch (block.kind) {
    case "think":
      return <Think part={part} at={at} isAlone={isThoughtAlone} />;
    case "tool_call":
      return (
        <Call part={part} at={at}>
          <Result part={part} at={at} />
        </Call>
      );
    case "tool_result":
      return (
        <div class={style["result"]}>
          <span class={style["arrow"]} aria-hidden="true">
            →
          </span>{" "}
          <Text text={part.text} at={at} />
        </div>
      );
    case "markers":
      return (
        <div class={style["markers"]} title="markers of the chat template">
          <Text text={block.parts.map((one) => (one.raw ?? one.text).trim()).join(" ")} />
        </div>
      );
    case "json":
      return (
        <pre class={style["json"]}>
          <Text text={part.text} at={at} />
        </pre>
      );
    default:
      return (
        <div class={style["flow"]}>
          {block.parts.map((one) => (
            <Inline key={one.place} part={one} at={`${turn}.${one.place}`} />
          ))}
        </div>
      );
  }
}

/** Kinds of parts whose first and last lines are shown. */
const LINES: ReadonlySet<string> = new Set(["text", "tool_result", "json"]);

/** The result of a call, if it is on the page of turns and belongs to no later call. */
function Result({ part, at }: { part: Piece; at: string }) {
  const { sample, judging } = useSession();
  const number = part.result?.turn ?? -1;
  const isHere = useComputed(() => sample.answers.value.get(number) === at).value;
  const page = sample.page.value;
  const answer = isHere ? page?.turns[number - page.turn_from] : undefined;
  if (answer === undefined || part.result === null) return null;
  const turn = judging.isBlind.value ? ungradedTurn(answer) : answer;
  const how = render.value;
  const arranged = blocks(turn.parts, { ...how, markers: turn.origin === "prompt" ? how.promptMarkers : how.markers });
  const words = arranged.length === 0 ? wordsOf(turn.logs) : [];
  const { error, error_lines: errorLines } = part.result;
  return (
    <CallBody label="Its result">
      {error !== "" && error !== part.call?.error && (
        <div class={style["wrong"]}>
          <Text text={error} />
        </div>
      )}
      {arranged.map((block) =>
        block.parts.map((piece) =>
          LINES.has(piece.kind) ? (
            <Lines
              key={piece.place}
              what="result"
              part={piece}
              at={`${number}.${piece.place}`}
              errorLines={errorLines}
            />
          ) : block.kind === "flow" ? (
            <Inline key={piece.place} part={piece} at={`${number}.${piece.place}`} />
          ) : (
            <BlockView key={piece.place} block={{ ...block, parts: [piece] }} turn={String(number)} isThoughtAlone />
          ),
        ),
      )}
      {arranged.length === 0 && (words.length > 0 ? <Words words={words} /> : <span class="quiet">(empty)</span>)}
      <Figures turn={turn} />
      {words.length === 0 && <Logs logs={withoutError(turn.logs, error !== "")} />}
    </CallBody>
  );
}

/** Logs without what the head of the block says, and without an error that is shown. */
function withoutError(logs: unknown, isShown: boolean): unknown {
  const said = new Set(["is_error", "isError", ...(isShown ? ["error"] : [])]);
  return isRecord(logs) ? Object.fromEntries(Object.entries(logs).filter(([key]) => !said.has(key))) : logs;
}

/** The most figures of a result; the raw record has all. */
const FIGURES = 40;

function Figures({ turn: { reward, facts, metrics } }: { turn: TurnView }) {
  const every = [
    ...(reward === null ? [] : [["reward", reward] as const]),
    ...Object.entries({ ...facts, ...metrics }),
  ];
  if (every.length === 0) return null;
  return (
    <div class={style["figures"]}>
      {every.slice(0, FIGURES).map(([name, value]) => (
        <span key={name}>
          <Text text={name} /> <Text text={factText(value)} />
        </span>
      ))}
    </div>
  );
}

function Inline({ part, at }: { part: Piece; at: string }) {
  switch (part.kind) {
    case "marker":
      return (
        <span class={style["marker"]} title="marker of the chat template">
          <Text text={part.raw ?? part.text} />
        </span>
      );
    case "placeholder":
      return <Placeholder part={part} />;
    case "image":
      return part.image ? (
        <Picture at={at} what={part.text} />
      ) : (
        <span class={style["image"]} title="an image that the record names but does not contain">
          <Text text={part.text} />
        </span>
      );
    case "answer":
      return (
        <span
          class={style["answer"]}
          title={part.closed ? "the model marked this as its answer" : "an answer without an end"}
        >
          <Text text={part.text} at={at} />
        </span>
      );
    default:
      return (
        <>
          <Rich text={part.text} at={at} shift={part.shift} />
          <Cut cut={part.cut} />
        </>
      );
  }
}
