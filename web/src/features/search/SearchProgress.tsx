/** The progress of a search in samples and bytes, the parts that it could not search, and samples that came later. */

import { useSession } from "../../state/useSession";
import type { SearchEvent } from "../../api/types.gen";
import { count, figure, size } from "../../lib/numbers/numbers";
import { sentence } from "../../lib/text/sentence";
import { nameOf } from "../../state/marks";
import { runs } from "../../state/runs";
import { type Results } from "../../state/search";
import style from "./Search.module.css";

export function SearchProgress({ results }: { results: Results }) {
  const session = useSession();
  const { now, hits } = results;
  const done = now?.searched_bytes ?? 0;
  const bytes = now?.known_bytes ?? 0;
  const part = bytes > 0 ? Math.min(1, done / bytes) : 0;
  const isOn = session.search.isSearching.value;
  const indexing = (runs.value ?? []).filter(
    ({ id, progress }) => now?.indexing.includes(id) === true && progress.phase === "scalars",
  );
  const later = session.search.grown.value;
  const { extent } = session.place.now.value;
  const isNothing = now?.found === 0 && now.transcripts_found === 0;
  return (
    <div class={style["progress"]}>
      <p role="status" class={style["said"]}>
        <b>{now === null ? "Searching …" : isNothing && !isOn ? "Nothing found" : foundIn(now)}</b>
        {now !== null && (
          <span class="quiet">
            {now.kind === "waiting" && "waiting for other searches; "}
            {now.kind === "over"
              ? `of ${count(now.known_samples, "sample")}, ${size(bytes)}`
              : `in ${figure(now.samples)} of ${count(now.known_samples, "sample")}, ${size(done)} of ${size(bytes)}`}
            {now.kind !== "over" && now.kind !== "progress" && `: ${now.kind}`}
            {now.known_reports > 0 && `, conversations of ${reportsIn(now)}`}
            {now.found > now.listed &&
              now.kind === "over" &&
              `; the ${results.request.oldest_first ? "oldest" : "newest"} ${figure(now.listed)} are listed`}
          </span>
        )}
        {!isOn && isNothing && results.request.runs.length > 0 && extent !== "run" && (
          <button type="button" class="action strong" onClick={() => session.place.go({ extent: "run" }, "replace")}>
            Search the whole run
          </button>
        )}
        {isOn && (
          <button type="button" class="action" onClick={session.search.stop}>
            Stop
          </button>
        )}
        {!isOn && now !== null && now.kind !== "over" && (
          <button type="button" class="action strong" onClick={() => session.search.searchNow(results.request)}>
            Search again
          </button>
        )}
      </p>
      <div
        class={style["bar"]}
        role="progressbar"
        aria-label="Searched"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(part * 100)}
        hidden={!isOn}
      >
        <i style={{ width: `${part * 100}%` }} />
      </div>
      {indexing.map((one) => (
        <p key={one.id} class="quiet">
          {nameOf(one)} is still being indexed: {size(one.progress.done_bytes)} of {size(one.progress.total_bytes)} so
          far. Later samples are not searched.
        </p>
      ))}
      {now !== null && now.from_sources > 0 && (
        <p class="quiet">
          {count(now.from_sources, "sample")} searched in the files, which takes longer: their texts are not indexed
          yet.
        </p>
      )}
      {now?.notes.map((note) => (
        <p key={note} class={style["note"]}>
          {sentence(note)}
        </p>
      ))}
      {results.error !== null && hits.length > 0 && (
        <p class={style["note"]} role="alert">
          {sentence(results.error.message)}
        </p>
      )}
      {later.length > 0 && (
        <p>
          <button type="button" class="action strong" onClick={() => session.search.searchNow(results.request)}>
            {later.length === 1 && later[0] !== undefined ? nameOf(later[0]) : count(later.length, "run")} changed
            since: search again
          </button>
        </p>
      )}
    </div>
  );
}

const reportsIn = ({ kind, reports, known_reports: total }: Pick<SearchEvent, "kind" | "reports" | "known_reports">) =>
  `${kind === "over" ? "" : `${figure(reports)} of `}${count(total, "report")}`;

function foundIn({ found, transcripts_found: logged }: Pick<SearchEvent, "found" | "transcripts_found">): string {
  return logged === 0 ? count(found, "sample") : `${count(found, "sample")}, ${count(logged, "logged conversation")}`;
}
