/** A block of a turn: running text, a thought, a call of a tool, what the tool gave back, data. */

import type { PartView } from "../../api/types.gen";
import type { Block } from "../../lib/parts";
import { Text } from "../../ui/Text";
import { Call } from "./Call";
import { Think } from "./Think";
import { Placeholder } from "./Placeholder";
import style from "./BlockView.module.css";

export function BlockView({ block, isThoughtOpen }: { block: Block; isThoughtOpen: boolean }) {
  const part = block.parts[0];
  if (part === undefined) return null;
  switch (block.kind) {
    case "think":
      return <Think part={part} isUsuallyOpen={isThoughtOpen} />;
    case "tool_call":
      return <Call part={part} />;
    case "tool_result":
      return (
        <div class={style["result"]}>
          <span class={style["arrow"]} aria-hidden="true">→</span> <Text text={part.text} />
        </div>
      );
    case "markers":
      return (
        <div class={style["markers"]} title="markers of the chat template">
          {block.parts.map((one) => (one.raw ?? one.text).trim()).join(" ")}
        </div>
      );
    case "json":
      return <pre class={style["json"]}><Text text={part.text} /></pre>;
    default:
      return (
        <div class={style["flow"]}>
          {block.parts.map((one, i) => (
            // The parts of a text never change their order: their place is their identity.
            // oxlint-disable-next-line react/no-array-index-key
            <Inline key={i} part={one} />
          ))}
        </div>
      );
  }
}

function Inline({ part }: { part: PartView }) {
  switch (part.kind) {
    case "marker":
      return <span class={style["marker"]} title="marker of the chat template">{part.raw ?? part.text}</span>;
    case "placeholder":
      return <Placeholder part={part} />;
    case "image":
      return <span class={style["image"]} title="an image that the record only names">{part.text}</span>;
    case "answer":
      return (
        <span class={style["answer"]} title={part.closed ? "the answer that the model marked as such" : "an answer that was never closed"}>
          <Text text={part.text} />
        </span>
      );
    default:
      return <Text text={part.text} />;
  }
}
