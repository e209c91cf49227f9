/** The record as it stands in its file, and where that is. */

import { useMemo, useState } from "preact/hooks";
import { whereIn } from "../../lib/facts";
import { indented } from "../../lib/json";
import { size } from "../../lib/numbers";
import { loadRaw, raw, rawError } from "../../state/sample";
import { Copy } from "../../ui/Copy";
import { Segments } from "../../ui/Segments";
import { Failure } from "../../ui/State";
import { Text } from "../../ui/Text";
import style from "./Raw.module.css";

const FORMS = [
  { value: "lines", label: "In lines", title: "Laid out; values are not touched" },
  { value: "verbatim", label: "Verbatim", title: "Exactly as it stands in the file" },
] as const;

export function Raw() {
  const [form, choose] = useState<"lines" | "verbatim">("lines");
  const reply = raw.value;
  const text = useMemo(() => (reply === null ? "" : form === "lines" ? indented(reply.text) : reply.text), [reply, form]);
  if (rawError.value !== null) return <Failure error={rawError.value} what="The record" again={() => void loadRaw(false)} />;
  if (reply === null) return <p class="hidden" role="status">Loading</p>;
  const { source, shown_bytes, size_bytes } = reply;
  return (
    <section class={style["raw"]} aria-label="Raw record">
      <div class={style["bar"]}>
        <p class={style["source"]}>
          {source.file} · {whereIn(source)} · {size(size_bytes)}
        </p>
        <Copy what="the record" text={() => reply.text} />
        <Segments label="Form" options={FORMS} value={form} choose={choose} />
      </div>
      {shown_bytes < size_bytes && (
        <p class={style["cut"]}>
          The first {size(shown_bytes)} of {size(size_bytes)} are shown.{" "}
          <button type="button" class="button" onClick={() => void loadRaw(true)}>Load all</button>
        </p>
      )}
      <pre class={style["text"]}><Text text={text} /></pre>
    </section>
  );
}
