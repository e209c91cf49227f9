/** What stands in place of rows: why there are none, and what leads on. */

import { getAbout, getMetricNames } from "../../api";
import { holds, type Listing } from "../../lib/listing";
import { asksForReason } from "../../lib/filter";
import { count, figure } from "../../lib/numbers";
import { activityOf } from "../../state/activity";
import { filterBy, widen } from "../../state/filter";
import { scope } from "../../state/list";
import { field, go, href, onLink } from "../../state/place";
import { run } from "../../state/runs";
import { lastStep, stepIndex, steps } from "../../state/steps";
import { State } from "../../ui/State";
import { useLoaded } from "../../ui/useLoaded";
import { NothingDiscarded } from "../discarded/NothingDiscarded";
import { Text } from "../../ui/Text";

/** Nothing to show but a filter that cannot be read; why stands below its field. */
export function Unread() {
  return (
    <State title="The filter cannot be read">
      <p>
        <button type="button" class="button" onClick={() => filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

export function Waiting() {
  const item = run.value;
  if (item !== null && item.splits.length === 0) {
    const goesOn = activityOf(item) === "running";
    return item.progress.phase === "ready" ? (
      <State title={goesOn ? "Running; nothing was recorded yet" : "No sample here yet"}>
        {(!goesOn || item.problems > 0) && (
          <p>The files of this run hold no record that can be shown{item.problems > 0 ? "; the page of problems says why" : ""}.</p>
        )}
        {(goesOn || !item.live) && <p>When a trainer writes one, it appears here by itself.</p>}
        <Beside id={item.id} />
      </State>
    ) : (
      <State title="Reading the first samples …" />
    );
  }
  return <p class="hidden" role="status">Loading</p>;
}

/** What a run holds that has no samples. */
function Beside({ id }: { id: string }) {
  const about = useLoaded(id, () => getAbout(id)).value;
  const metrics = useLoaded(id, () => getMetricNames(id)).value?.names.length ?? 0;
  const reports = (about?.reports ?? []).reduce((sum, one) => sum + one.steps.length, 0);
  return (
    <>
      {reports > 0 && (
        <p>
          <a href={href({ page: "report" })} onClick={onLink({ page: "report" })}>{count(reports, "report")} of its trainer</a>
        </p>
      )}
      {metrics > 0 && <p>Its trainer logged {count(metrics, "metric")}; the charts show some, and the others can be added there.</p>}
      <p>
        <a href={href({ page: "run" })} onClick={onLink({ page: "run" })}>Its configuration, checkpoints and files</a>
      </p>
    </>
  );
}

/** A filter that nothing on this page can fulfil, and the page where something may. */
function OfDiscarded({ where }: { where: string }) {
  return (
    <State title="No sample fulfils the filter">
      <p>
        This page holds what was trained on; <code>{where}</code> asks for what was not.
      </p>
      <p>
        <a class="button" href={href({ discarded: true, sample: null })} onClick={onLink({ discarded: true, sample: null })}>
          Look among what was discarded
        </a>{" "}
        <button type="button" class="button" onClick={() => filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

/** Why there is nothing: because of the filter, or because the scope holds nothing. */
export function Empty({ list }: { list: Listing }) {
  const step = field.step.value;
  const split = field.split.value;
  const newest = lastStep.value;
  if (list.of > 0 && !list.scope.discarded && asksForReason(list.scope.where)) return <OfDiscarded where={list.scope.where} />;
  if (list.of > 0) {
    return (
      <State title="No sample fulfils the filter">
        <p>
          {list.scope.step === null ? "The scope" : `Step ${figure(list.scope.step)}`} holds {figure(list.of)} samples, none with <code>{list.scope.where}</code>.
        </p>
        <p>
          <button type="button" class="button" onClick={() => filterBy("")}>
            Clear the filter
          </button>{" "}
          {list.scope.step !== null && (
            <button type="button" class="button" onClick={() => widen("run")}>
              Look in the whole run
            </button>
          )}
        </p>
      </State>
    );
  }
  if (list.scope.discarded) return <NothingDiscarded />;
  const gone = list.scope.step === null ? 0 : (steps.value?.discarded[stepIndex.value] ?? 0);
  if (gone > 0) {
    return (
      <State title={`Nothing was trained on at step ${figure(step)}`}>
        <p>
          <a href={href({ discarded: true })} onClick={onLink({ discarded: true })}>{count(gone, "sample")} of it were discarded</a>
        </p>
      </State>
    );
  }
  const isInScope = newest !== null && scope.value !== null && holds(scope.value, newest);
  return (
    <State title={list.scope.step === null ? "No samples in these steps" : `No samples at step ${figure(step)}`}>
      <p><Text text={split ?? ""} /> holds nothing {list.scope.step === null ? "there" : "for this step"}.</p>
      {newest !== null && !isInScope && (steps.value?.steps.length ?? 0) > 0 && (
        <p>
          <button type="button" class="button" onClick={() => go({ step: newest, extent: "step" })}>
            Go to step {figure(newest)}, the newest
          </button>
        </p>
      )}
    </State>
  );
}
