/** Exports samples: as a file, or as the Python call that returns the same. */

import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import { inWords } from "../../lib/address/python";
import { allSent, isUnsaved, nameOf, ofSample, sendAgain } from "../../state/marks";
import { nameOfSample } from "../../lib/sample/name";
import { Copy } from "../../ui/controls/Copy";
import { copyLink, isOnlyHere } from "../../ui/controls/link";
import { Download } from "../../ui/controls/Download";
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
  { value: "csv", label: "CSV", title: "For spreadsheets; an apostrophe keeps text from being read as a formula" },
] as const;

const PAIRS = {
  value: "pairs",
  label: "Pairs",
  title: "Prompt, chosen and rejected: each good sample with each bad one of its group, as JSON lines",
} as const;

const TEXTS = [
  { value: "whole", label: "Whole", title: "Prompt and response, read from the run's files" },
  { value: "start", label: "Beginnings", title: "As in lists: much faster for many samples" },
] as const;

const YES_NO = [
  { value: "with", label: "With" },
  { value: "without", label: "Without" },
] as const;
type Choice = (typeof YES_NO)[number]["value"];

/** The optional contents of a report. */
const CONTENTS = [
  { name: "tokens", label: "Tokens" },
  { name: "notes", label: "Notes" },
  { name: "findings", label: "Findings" },
] as const;

const close = (): void => {
  exportOpen.value = null;
};

export function ExportCard() {
  const session = useSession();
  const open = exportOpen.value;
  return (
    <Dialog label="Export" isOpen={open !== null && session.run.now.value !== null} close={close}>
      {open !== null && <Card {...open} />}
    </Dialog>
  );
}

/** True if reports of the run have the curve of its reward: it needs two steps. */
const hasCurve = (session: Session): boolean =>
  (session.steps.reply.value?.reward_mean ?? []).filter((mean) => mean !== null).length > 1;

const TITLES: Readonly<Record<Of, string>> = {
  sample: "Share this sample",
  samples: "Export the samples of the list",
  bookmarks: "Export bookmarks and notes",
  judgements: "Export your judgements",
};

function Card({ of, kind: first }: { of: Of; kind: Kind }) {
  const session = useSession();
  const [kind, setKind] = useState<Kind>(first);
  const [texts, setTexts] = useState<"whole" | "start">("whole");
  const [contents, setContents] = useState({ tokens: true, notes: of !== "samples", findings: of !== "sample" });
  const item = session.run.now.value;
  if (item === null) return null;
  const isReport = kind === "html";
  const note = ofSample(item.id, session.sample.now.value?.id ?? "");
  const lacksNote = (): boolean => of === "sample" && isUnsaved(note);
  const isKnown = lacksNote();
  /** Wait for the note. If it fails now, the card says so first; the next press asks for the file without it. */
  const saveNote = async (): Promise<boolean> => {
    await allSent(note);
    return isKnown || !lacksNote();
  };
  const href = isReport ? reportOf(session, of, contents) : fileOf(session, of, kind, texts === "whole");
  return (
    <div class={style["card"]}>
      <h2>{TITLES[of]}</h2>
      <p class="quiet">
        {nameOf(item)}
        {(of === "samples" || of === "judgements") && ` · ${inWords(selectionNow(session, of))}`}
        {of === "sample" && ` · ${nameOfSample(session.sample.now.value?.id ?? "")}`}
      </p>
      <div class={style["line"]}>
        <span>As</span>
        <Segments
          label="File format"
          options={of === "judgements" ? [...KINDS, PAIRS] : KINDS}
          value={kind}
          choose={setKind}
        />
      </div>
      {isReport ? (
        <>
          {CONTENTS.filter(({ name }) => name !== "notes" || of !== "bookmarks").map(({ name, label }) => (
            <div key={name} class={style["line"]}>
              <span>{label}</span>
              <Segments
                label={label}
                options={YES_NO}
                value={contents[name] ? "with" : "without"}
                choose={(choice: Choice) => setContents({ ...contents, [name]: choice === "with" })}
              />
            </div>
          ))}
          {hasCurve(session) && <p class="quiet">The page also has the curve of the mean reward.</p>}
          {of !== "sample" && (
            <p class="quiet">
              At most 1,000 samples and 50 MB; <code>rolloupe export html</code> writes more.
            </p>
          )}
        </>
      ) : kind === "pairs" ? (
        <p class="quiet">Each good sample with each bad one of its group, with whole texts.</p>
      ) : (
        <div class={style["line"]}>
          <span>Texts</span>
          <Segments label="Texts" options={TEXTS} value={texts} choose={setTexts} />
        </div>
      )}
      {isKnown && (
        <p role="alert">
          The note on this sample could not be saved, so the file lacks it.{" "}
          <button type="button" class="button" onClick={() => void sendAgain()}>
            Save it again
          </button>
        </p>
      )}
      <p>
        <Download class="button first" href={href} autofocus before={saveNote} then={close}>
          Download
        </Download>{" "}
        {of === "sample" && (
          <button type="button" class="button" onClick={() => (close(), void copyLink(session))}>
            Copy a link instead
          </button>
        )}
      </p>
      {of === "sample" && isOnlyHere() && (
        <p class="quiet">A link may open only on this machine; a report opens anywhere.</p>
      )}
      <h3>The same in Python</h3>
      <pre class={style["code"]}>{callOf(session, of, kind)}</pre>
      <p class={style["foot"]}>
        <Copy text={() => callOf(session, of, kind)} what="the Python call" />
        <button type="button" class="action" onClick={close}>
          Close
        </button>
      </p>
    </div>
  );
}
