/** The sample as one text: as the trainer saw it if the record has it, else as Rolloupe assembled it. */

import { useSession } from "../../state/useSession";
import { count } from "../../lib/numbers/numbers";
import { chooseRender, render } from "../../state/browser/textOptions";
import { Copy } from "../../ui/controls/Copy";
import { Failure } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { Blocks } from "./Blocks";
import style from "./RawRecord.module.css";

const BLOCK_CHARS = 4_000_000;

const characters = (n: number): string => count(n, "character");

export function WholeText() {
  const session = useSession();
  const { reply, error } = session.blocks.text();
  if (error !== null) return <Failure error={error} what="The text" again={() => void session.blocks.loadText(0)} />;
  if (reply === null)
    return (
      <p class="hidden" role="status">
        Loading
      </p>
    );
  const { start, stop, chars } = reply;
  const { visible } = render.value;
  return (
    <section class={style["raw"]} aria-label="Raw text">
      <div class={style["bar"]}>
        <p class={`${style["origin"]} ${reply.is_own ? "" : style["put"]}`}>
          {reply.origin} {characters(chars)}.
        </p>
        <Copy what={stop - start < chars ? "this block of the text" : "the text"} text={() => reply.text} />
        <button
          type="button"
          class="action"
          aria-pressed={visible}
          title="Mark newlines, invisible characters and special tokens"
          onClick={() => chooseRender({ visible: !visible })}
        >
          Line breaks
        </button>
      </div>
      <Blocks
        start={start}
        stop={stop}
        total={chars}
        words={characters}
        block={BLOCK_CHARS}
        go={(at) => void session.blocks.loadText(at)}
      />
      <pre class={style["text"]}>
        <Text text={reply.text} />
      </pre>
      <Blocks
        start={start}
        stop={stop}
        total={chars}
        words={characters}
        block={BLOCK_CHARS}
        go={(at) => void session.blocks.loadText(at)}
      />
    </section>
  );
}
