/** The bookmarks and notes on samples, of all runs: filter them, export them, open them. */

import { useSession } from "../../state/useSession";
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, figure } from "../../lib/numbers/numbers";
import { areMarksLoaded, loadMarks, marksError, nameOf, sampleMarks, storageProblem } from "../../state/marks";
import { runOf } from "../../state/runs";
import { Segments } from "../../ui/controls/Segments";
import { Failure, State } from "../../ui/layout/EmptyState";
import { openExport } from "../export";
import { BookmarkRow } from "./BookmarkRow";
import { type MarkedSamples, loadMarkedSamples, matchingMarks } from "./markedSamples";
import pageStyle from "../../ui/layout/page.module.css";
import style from "./BookmarksPage.module.css";

const PAGE = 200;

export function BookmarksPage() {
  const session = useSession();
  const { run: runId, find } = session.place.now.value;
  const isAll = session.place.now.value.all || runId === null;
  const [shown, show] = useState(PAGE);
  const [samples, setSamples] = useState<ReadonlyMap<string, MarkedSamples>>(new Map());
  const marks = sampleMarks.value;
  const open = useMemo(
    () => [...new Set(marks.flatMap(({ owner }) => (owner === null || owner.run === "" ? [] : [owner.run])))],
    [marks],
  );
  const version = open.map((id) => runOf(id)?.version ?? "").join(" ");

  useEffect(() => {
    let isCurrent = true;
    void loadMarkedSamples(open, (of, more) => {
      if (isCurrent) setSamples((before) => new Map(before).set(of, new Map([...(before.get(of) ?? []), ...more])));
      return isCurrent;
    });
    return () => {
      isCurrent = false;
    };
    // Reload when a mark or a run has changed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [marks, version]);

  const all = marks.filter(({ owner }) => isAll || owner?.run === runId);
  const result = matchingMarks(all, find, samples);
  const choices =
    session.run.now.value === null
      ? []
      : [
          { value: "run", label: nameOf(session.run.now.value) },
          { value: "all", label: "All runs" },
        ];
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`}>
      <h1>Bookmarks and notes</h1>
      {storageProblem.value !== "" && <p class={style["trouble"]}>Changes cannot be saved: {storageProblem.value}</p>}
      <div class={style["tools"]}>
        <input
          class={`field ${style["field"]}`}
          type="search"
          aria-label="Find in bookmarks and notes"
          placeholder="Find in notes, responses and ids"
          autocomplete="off"
          value={find}
          onInput={(event) => session.place.go({ find: event.currentTarget.value }, "replace")}
        />
        {choices.length > 0 && (
          <Segments
            label="Runs"
            options={choices}
            value={isAll ? "all" : "run"}
            choose={(value) => session.place.go({ all: value === "all" })}
          />
        )}
        {session.run.now.value !== null && !isAll && all.length > 0 && (
          <button type="button" class="action" onClick={() => openExport("bookmarks")}>
            Export
          </button>
        )}
      </div>
      {marks.length === 0 && marksError.value !== null ? (
        <Failure error={marksError.value} what="Bookmarks and notes" again={() => void loadMarks()} />
      ) : marks.length === 0 && !areMarksLoaded.value ? (
        <State title="Loading bookmarks and notes …" />
      ) : marks.length === 0 ? (
        <Empty />
      ) : result.length === 0 ? (
        <State title={all.length === 0 ? "No bookmarks in this run" : "No bookmark matches"}>
          {all.length === 0 && !isAll && (
            <p>
              <button type="button" class="button" onClick={() => session.place.go({ all: true })}>
                Show all runs
              </button>
            </p>
          )}
        </State>
      ) : (
        <>
          <p class={style["count"]} role="status">
            {result.length === all.length
              ? count(all.length, "sample")
              : `${figure(result.length)} of ${count(all.length, "sample")}`}
          </p>
          <ol>
            {result.slice(0, shown).map(({ item, owner }) => (
              <BookmarkRow
                key={`${item.owner} ${item.name} ${item.by} ${item.shared}`}
                item={item}
                owner={owner}
                now={samples.get(owner?.run ?? "")?.get(item.name)}
                hasRun={isAll}
              />
            ))}
          </ol>
          {result.length > shown && (
            <p class={style["more"]}>
              <button type="button" class="button" onClick={() => show(shown + PAGE)}>
                Show more
              </button>
            </p>
          )}
        </>
      )}
    </main>
  );
}

function Empty() {
  return (
    <State title="No bookmarks yet">
      <p>
        Press <kbd>b</kbd> on a sample to bookmark it, or <kbd>n</kbd> to write a note. Both appear here, in every
        browser, and in Python: <code>rolloupe.open(RUN).bookmarks()</code>.
      </p>
    </State>
  );
}
