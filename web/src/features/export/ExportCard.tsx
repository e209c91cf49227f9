/** Exports samples: as a file, or as the Python call that returns the same. */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import { inWords } from "../../lib/address/python";
import { nameOf } from "../../state/marks";
import { Copy } from "../../ui/controls/Copy";
import { Dialog } from "../../ui/overlay/Dialog";
import { Segments } from "../../ui/controls/Segments";
import { callOf, exportOpen, fileOf, type Kind, type Of, reportOf, selectionNow } from "./exporting";
import style from "./ExportCard.module.css";

const KINDS = [
  {
    value: "html",
    label: "Report",
    title: "One page with the samples and their tokens, to mail; it opens without Rolloupe",
  },
  { value: "jsonl", label: "JSON lines", title: "One object per line, for jq and programs" },
  { value: "parquet", label: "Parquet", title: "Columns with types, for pandas, polars and DuckDB" },
  { value: "csv", label: "CSV", title: "For spreadsheets; an apostrophe protects what looks like a formula" },
] as const;

const TEXTS = [
  { value: "whole", label: "Whole", title: "Prompt and response, read from the run's files" },
  { value: "start", label: "Their starts", title: "As in lists: much faster for many samples" },
] as const;

const YES_NO = [
  { value: "with", label: "With" },
  { value: "without", label: "Without" },
] as const;
type Choice = (typeof YES_NO)[number]["value"];

const close = (): void => {
  exportOpen.value = null;
};

export function ExportCard() {
  const session = useSession();
  const of = exportOpen.value;
  return (
    <Dialog label="Export" isOpen={of !== null && session.run.now.value !== null} close={close}>
      {of !== null && <Card of={of} />}
    </Dialog>
  );
}

function Card({ of }: { of: Of }) {
  const session = useSession();
  const [kind, setKind] = useState<Kind>("jsonl");
  const [texts, setTexts] = useState<"whole" | "start">("whole");
  const [tokens, setTokens] = useState<Choice>("with");
  const [notes, setNotes] = useState<Choice>("without");
  const item = session.run.now.value;
  if (item === null) return null;
  const isReport = kind === "html";
  const href = isReport
    ? reportOf(session, of, tokens === "with", notes === "with" || of === "bookmarks")
    : fileOf(session, of, kind, texts === "whole");
  return (
    <div class={style["card"]}>
      <h2>Export {of === "bookmarks" ? "bookmarks and notes" : "the samples of the list"}</h2>
      <p class="quiet">
        {nameOf(item)}
        {of === "samples" && ` · ${inWords(selectionNow(session))}`}
      </p>
      <div class={style["line"]}>
        <span>As</span>
        <Segments label="Kind of file" options={KINDS} value={kind} choose={setKind} />
      </div>
      {isReport ? (
        <>
          <div class={style["line"]}>
            <span>Tokens</span>
            <Segments label="Tokens" options={YES_NO} value={tokens} choose={setTokens} />
          </div>
          {of === "samples" && (
            <div class={style["line"]}>
              <span>Notes</span>
              <Segments label="Notes" options={YES_NO} value={notes} choose={setNotes} />
            </div>
          )}
          <p class="quiet">
            At most 1,000 samples and 50 MB; <code>rolloupe export html</code> writes more.
          </p>
        </>
      ) : (
        <div class={style["line"]}>
          <span>Texts</span>
          <Segments label="Texts" options={TEXTS} value={texts} choose={setTexts} />
        </div>
      )}
      <p>
        <a class="button first" href={href} download onClick={close}>
          Download
        </a>
      </p>
      <h3>The same in Python</h3>
      <pre class={style["code"]}>{callOf(session, of)}</pre>
      <p class={style["foot"]}>
        <Copy text={() => callOf(session, of)} what="the Python call" />
        <button type="button" class="action" onClick={close}>
          Close
        </button>
      </p>
    </div>
  );
}
