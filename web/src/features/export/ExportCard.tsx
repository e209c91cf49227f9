/** Taking samples out of the page: as a file, or as the Python call that gives the same. */

import { useState } from "preact/hooks";
import { inWords } from "../../lib/python";
import { nameOf } from "../../state/marks";
import { run } from "../../state/runs";
import { Copy } from "../../ui/Copy";
import { Dialog } from "../../ui/Dialog";
import { Segments } from "../../ui/Segments";
import { callOf, exportOpen, fileOf, type Kind, type Of, selection } from "./exporting";
import style from "./ExportCard.module.css";

const KINDS = [
  { value: "jsonl", label: "JSON lines", title: "An object a line, for jq and for programs" },
  { value: "parquet", label: "Parquet", title: "Columns with types, for pandas, polars and DuckDB" },
  { value: "csv", label: "CSV", title: "For spreadsheets; what would be a formula there gets an apostrophe" },
] as const;

const TEXTS = [
  { value: "whole", label: "Whole", title: "Prompt and response, read from the run's files" },
  { value: "start", label: "Their starts", title: "As lists show them: much quicker for many samples" },
] as const;

const close = (): void => {
  exportOpen.value = null;
};

export function ExportCard() {
  const of = exportOpen.value;
  return (
    <Dialog label="Export" isOpen={of !== null && run.value !== null} close={close}>
      {of !== null && <Card of={of} />}
    </Dialog>
  );
}

function Card({ of }: { of: Of }) {
  const [kind, setKind] = useState<Kind>("jsonl");
  const [texts, setTexts] = useState<"whole" | "start">("whole");
  const item = run.value;
  if (item === null) return null;
  return (
    <div class={style["card"]}>
      <h2>Export {of === "bookmarks" ? "what is marked" : "the samples of the list"}</h2>
      <p class="quiet">
        {nameOf(item)}
        {of === "samples" && ` · ${inWords(selection.value)}`}
      </p>
      <div class={style["line"]}>
        <span>As</span>
        <Segments label="Kind of file" options={KINDS} value={kind} choose={setKind} />
      </div>
      <div class={style["line"]}>
        <span>Texts</span>
        <Segments label="Texts" options={TEXTS} value={texts} choose={setTexts} />
      </div>
      <p>
        <a class="button first" href={fileOf(of, kind, texts === "whole")} download onClick={close}>
          Download
        </a>
      </p>
      <h3>The same in Python</h3>
      <pre class={style["code"]}>{callOf(of)}</pre>
      <p class={style["foot"]}>
        <Copy text={() => callOf(of)} what="the Python call" />
        <button type="button" class="action" onClick={close}>Close</button>
      </p>
    </div>
  );
}
