/** The record as in its file, and its place there. */

import { useSession } from "../../state/useSession";
import { useEffect, useState } from "preact/hooks";
import { whereIn } from "../../lib/sample/facts";
import { size } from "../../lib/numbers/numbers";
import { Copy } from "../../ui/controls/Copy";
import { indent } from "../../ui/text/renderer";
import { Segments } from "../../ui/controls/Segments";
import { Failure } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { Blocks } from "./Blocks";
import style from "./RawRecord.module.css";

const FORMS = [
  { value: "lines", label: "In lines", title: "Formatted; values are unchanged" },
  { value: "verbatim", label: "Verbatim", title: "Exactly as in the file" },
] as const;

const BLOCK_BYTES = 4 * 2 ** 20;

export function Raw() {
  const session = useSession();
  const [form, choose] = useState<"lines" | "verbatim">("lines");
  const { reply, error } = session.blocks.raw();
  const isWhole = reply !== null && reply.start === 0 && reply.stop >= reply.size_bytes;
  const inLines = useIndented(reply !== null && form === "lines" && isWhole ? reply.text : null);
  if (error !== null) return <Failure error={error} what="The record" again={() => void session.blocks.loadRaw(0)} />;
  if (reply === null)
    return (
      <p class="hidden" role="status">
        Loading
      </p>
    );
  const { source, start, stop, size_bytes: total } = reply;
  return (
    <section class={style["raw"]} aria-label="Raw record">
      <div class={style["bar"]}>
        <p class={style["source"]}>
          <Text text={source.file} /> · {whereIn(source)}
          {source.stop === source.start && ` · ${size(total)}`}
        </p>
        <Copy what={isWhole ? "the record" : "this block of the record"} text={() => reply.text} />
        {isWhole && <Segments label="Form" options={FORMS} value={form} choose={choose} />}
      </div>
      <Blocks
        start={start}
        stop={stop}
        total={total}
        words={size}
        block={BLOCK_BYTES}
        go={(at) => void session.blocks.loadRaw(at)}
      />
      <pre class={style["text"]}>
        <Text text={inLines ?? reply.text} />
      </pre>
      <Blocks
        start={start}
        stop={stop}
        total={total}
        words={size}
        block={BLOCK_BYTES}
        go={(at) => void session.blocks.loadRaw(at)}
      />
    </section>
  );
}

/** A text indented by the worker; null until then, or if there is nothing to indent. */
function useIndented(text: string | null): string | null {
  const [laid, lay] = useState<{ of: string; text: string } | null>(null);
  useEffect(() => {
    let isWanted = true;
    if (text !== null) void indent(text).then((indented) => isWanted && lay({ of: text, text: indented }));
    return () => {
      isWanted = false;
    };
  }, [text]);
  return laid !== null && laid.of === text ? laid.text : null;
}
