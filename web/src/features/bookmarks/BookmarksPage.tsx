/** What a person marked and noted on samples, of all runs; narrowed by words, exported, gone to. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { count, figure } from "../../lib/numbers";
import { areMarksLoaded, loadMarks, marksError, nameOf, sampleMarks, trouble } from "../../state/marks";
import { go, place } from "../../state/place";
import { run, runs } from "../../state/runs";
import { Segments } from "../../ui/Segments";
import { Failure, State } from "../../ui/State";
import { exportOpen } from "../export/exporting";
import { BookmarkRow } from "./BookmarkRow";
import { type Kept, loadKept, sought } from "./kept";
import style from "./BookmarksPage.module.css";

const PAGE = 200;

export function BookmarksPage() {
  const { run: runId, find } = place.value;
  const isAll = place.value.all || runId === null;
  const [shown, show] = useState(PAGE);
  const [kept, setKept] = useState<ReadonlyMap<string, Kept>>(new Map());
  const marks = sampleMarks.value;
  const open = useMemo(() => [...new Set(marks.flatMap(({ owner }) => (owner === null || owner.run === "" ? [] : [owner.run])))], [marks]);
  const version = open.map((id) => runs.value?.find((one) => one.id === id)?.version ?? "").join(" ");

  useEffect(() => {
    let isCurrent = true;
    void loadKept(open, (of, found) => {
      if (isCurrent) setKept((before) => new Map(before).set(of, new Map([...(before.get(of) ?? []), ...found])));
      return isCurrent;
    });
    return () => {
      isCurrent = false;
    };
    // Asked again when a mark or a run has changed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [marks, version]);

  const all = marks.filter(({ owner }) => isAll || owner?.run === runId);
  const found = sought(all, find, kept);
  const choices = run.value === null ? [] : [{ value: "run", label: nameOf(run.value) }, { value: "all", label: "All runs" }];
  return (
    <main class={style["page"]}>
      <h1>Bookmarks and notes</h1>
      {trouble.value !== "" && <p class={style["trouble"]}>Changes cannot be kept: {trouble.value}</p>}
      <div class={style["tools"]}>
        <input
          class={`field ${style["field"]}`}
          type="search"
          aria-label="Find in bookmarks and notes"
          placeholder="Find in notes, responses and ids"
          autocomplete="off"
          value={find}
          onInput={(event) => go({ find: event.currentTarget.value }, "replace")}
        />
        {choices.length > 0 && <Segments label="Of which runs" options={choices} value={isAll ? "all" : "run"} choose={(value) => go({ all: value === "all" })} />}
        {run.value !== null && !isAll && all.length > 0 && (
          <button type="button" class="action" onClick={() => (exportOpen.value = "bookmarks")}>
            Export
          </button>
        )}
      </div>
      {marks.length === 0 && marksError.value !== null ? (
        <Failure error={marksError.value} what="What you marked" again={() => void loadMarks()} />
      ) : marks.length === 0 && !areMarksLoaded.value ? (
        <State title="Opening what you marked …" />
      ) : marks.length === 0 ? (
        <Empty />
      ) : found.length === 0 ? (
        <State title={all.length === 0 ? "Nothing is marked in this run" : "No bookmark has these words"}>
          {all.length === 0 && !isAll && (
            <p>
              <button type="button" class="button" onClick={() => go({ all: true })}>Show those of all runs</button>
            </p>
          )}
        </State>
      ) : (
        <>
          <p class={style["count"]} role="status">{found.length === all.length ? count(all.length, "sample") : `${figure(found.length)} of ${count(all.length, "sample")}`}</p>
          <ol>
            {found.slice(0, shown).map(({ item, owner }) => (
              <BookmarkRow key={`${item.owner} ${item.name}`} item={item} owner={owner} now={kept.get(owner?.run ?? "")?.get(item.name)} hasRun={isAll} />
            ))}
          </ol>
          {found.length > shown && (
            <p class={style["more"]}>
              <button type="button" class="button" onClick={() => show(shown + PAGE)}>Show more</button>
            </p>
          )}
        </>
      )}
    </main>
  );
}

function Empty() {
  return (
    <State title="Nothing is marked yet">
      <p>
        Press <kbd>b</kbd> on a sample to bookmark it, or <kbd>n</kbd> to write a note. Both are found here, in every browser, and in Python:
        {" "}<code>rolloupe.open(RUN).bookmarks()</code>.
      </p>
    </State>
  );
}
