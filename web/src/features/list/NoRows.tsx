/** Fills the place of missing rows: the reason for their absence, and links. */

import { useSession } from "../../state/useSession";
import { getAbout, askMetrics } from "../../api";
import { holds } from "../../lib/list/scope";
import type { Listing } from "../../state/list/list";
import { asksForReason } from "../../lib/list/filter";
import { count, figure } from "../../lib/numbers/numbers";
import { activityOf } from "../../state/run/activity";
import { State } from "../../ui/layout/EmptyState";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { NothingDiscarded } from "../discarded";
import { Text } from "../../ui/text/Text";

/** Nothing but an invalid filter; the error is below its field. */
export function Unread() {
  const session = useSession();
  return (
    <State title="The filter cannot be read">
      <p>
        <button type="button" class="button" onClick={() => session.filter.filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

export function Waiting() {
  const session = useSession();
  const item = session.run.now.value;
  if (item !== null && item.splits.length === 0) {
    const goesOn = activityOf(item) === "running";
    return item.progress.phase === "ready" ? (
      <State title={goesOn ? "Running; no samples recorded yet" : "No samples yet"}>
        {(!goesOn || item.problems > 0) && (
          <p>
            The files of this run have no readable record
            {item.problems > 0 ? "; the page of unreadable records says why" : ""}.
          </p>
        )}
        {(goesOn || !item.live) && <p>New samples appear here as the trainer writes them.</p>}
        <Beside id={item.id} />
      </State>
    ) : (
      <State title="Reading the first samples …" />
    );
  }
  return (
    <p class="hidden" role="status">
      Loading
    </p>
  );
}

/** The content of a run without samples. */
function Beside({ id }: { id: string }) {
  const session = useSession();
  const about = useLoaded(id, () => getAbout(id)).value;
  const metrics = useLoaded(id, () => askMetrics(id)).value?.names.length ?? 0;
  const reports = (about?.reports ?? []).reduce((sum, one) => sum + one.steps.length, 0);
  return (
    <>
      {reports > 0 && (
        <p>
          <a href={session.place.href({ page: "report" })} onClick={session.place.onLink({ page: "report" })}>
            {count(reports, "report")} of its trainer
          </a>
        </p>
      )}
      {metrics > 0 && (
        <p>
          Its trainer logged {count(metrics, "metric")}; the charts show some of them, and you can add the others there.
        </p>
      )}
      <p>
        <a href={session.place.href({ page: "run" })} onClick={session.place.onLink({ page: "run" })}>
          Its configuration, checkpoints and files
        </a>
      </p>
    </>
  );
}

/** A filter that nothing on this page can match, and the page where something may. */
function OfDiscarded({ where }: { where: string }) {
  const session = useSession();
  return (
    <State title="No sample matches the filter">
      <p>
        This page lists samples that were trained on; <code>{where}</code> asks for discarded ones.
      </p>
      <p>
        <a
          class="button"
          href={session.place.href({ discarded: true, sample: null })}
          onClick={session.place.onLink({ discarded: true, sample: null })}
        >
          Search the discarded samples
        </a>{" "}
        <button type="button" class="button" onClick={() => session.filter.filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

/** The reason for the empty list: the filter, or an empty scope. */
export function Empty({ list }: { list: Listing }) {
  const session = useSession();
  const step = session.place.field.step.value;
  const split = session.place.field.split.value;
  const newest = session.steps.last.value;
  if (list.of > 0 && !list.scope.discarded && asksForReason(list.scope.where))
    return <OfDiscarded where={list.scope.where} />;
  if (list.of > 0) {
    return (
      <State title="No sample matches the filter">
        <p>
          {list.scope.step === null ? "This range of steps" : `Step ${figure(list.scope.step)}`} has{" "}
          {count(list.of, "sample")}, none with <code>{list.scope.where}</code>.
        </p>
        {list.reasons.map((reason) => (
          <p key={reason}>
            <Text text={reason} />
          </p>
        ))}
        <p>
          <button type="button" class="button" onClick={() => session.filter.filterBy("")}>
            Clear the filter
          </button>{" "}
          {list.scope.step !== null && (
            <button type="button" class="button" onClick={() => session.filter.widen("run")}>
              Search the whole run
            </button>
          )}
        </p>
      </State>
    );
  }
  if (list.scope.discarded) return <NothingDiscarded />;
  const discards =
    list.scope.step === null ? 0 : (session.steps.reply.value?.discarded[session.steps.index.value] ?? 0);
  if (discards > 0) {
    return (
      <State title={`No sample was trained on at step ${figure(step)}`}>
        <p>
          <a href={session.place.href({ discarded: true })} onClick={session.place.onLink({ discarded: true })}>
            {count(discards, "sample")} of this step {discards === 1 ? "was" : "were"} discarded
          </a>
        </p>
      </State>
    );
  }
  const isInScope = newest !== null && session.list.scope.value !== null && holds(session.list.scope.value, newest);
  return (
    <State title={list.scope.step === null ? "No samples in these steps" : `No samples at step ${figure(step)}`}>
      <p>
        <Text text={split ?? ""} /> has no samples {list.scope.step === null ? "there" : "at this step"}.
      </p>
      {newest !== null && !isInScope && (session.steps.reply.value?.steps.length ?? 0) > 0 && (
        <p>
          <button type="button" class="button" onClick={() => session.place.go({ step: newest, extent: "step" })}>
            Go to step {figure(newest)}, the newest
          </button>
        </p>
      )}
    </State>
  );
}
