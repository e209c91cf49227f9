/** Explains why a step has no report, and links to those that have one. */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import type { ReportSteps } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { count, figure } from "../../lib/numbers/numbers";
import { State } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import style from "./ReportPage.module.css";

const STEPS = 24;

interface Props {
  reports: readonly ReportSteps[];
}

export function NoReport({ reports }: Props) {
  const session = useSession();
  const { split, step } = session.place.now.value;
  if (reports.length === 0) return <None />;
  const logged = reports.find((one) => one.split === split)?.steps ?? [];
  const steps = session.run.now.value?.splits.find((one) => one.name === split)?.steps;
  const noSamples = steps === undefined && split !== null ? ", and the run has no samples of it" : "";
  const share = steps === undefined ? figure(logged.length) : `${figure(logged.length)} of ${count(steps, "step")}`;
  const before = logged.findLast((one) => step !== null && one < step);
  const after = logged.find((one) => step !== null && one > step);
  return (
    <State
      title={
        step === null ? `No report for ${split ?? "this split"}` : `No report for step ${figure(step)} of ${split}`
      }
    >
      <p>
        {logged.length === 0
          ? `The trainer logged no report for any step of this split${noSamples}.`
          : `The trainer logs a report for some steps only: ${share} of this split.`}
      </p>
      {(before !== undefined || after !== undefined) && (
        <p class={style["ways"]}>
          {before !== undefined && <Go to={{ step: before }}>Step {figure(before)}, the report before</Go>}
          {after !== undefined && <Go to={{ step: after }}>Step {figure(after)}, the report after</Go>}
        </p>
      )}
      <p>Steps that have a report:</p>
      <Others reports={reports} />
      {step !== null && (
        <p>
          <Go to={{ page: "rollouts" }}>The samples of step {figure(step)}</Go>
        </p>
      )}
    </State>
  );
}

function None() {
  const session = useSession();
  const { step } = session.place.now.value;
  return (
    <State title="This run has no reports">
      <p>
        A trainer can log a report for each step: an outline with tables, conversations and errors. This run has none.
      </p>
      <p>
        The Tinker cookbook writes reports unless <code>num_groups_to_log</code> is 0. Other trainers can write them
        with <code>rolloupe.record.logtree</code>, inside <code>log.trace("train", step)</code> of a{" "}
        <code>rolloupe.record.writers.tinker.Log</code>.
      </p>
      <p class={style["ways"]}>
        {step !== null && <Go to={{ page: "rollouts" }}>The samples of step {figure(step)}</Go>}
        <Go to={{ page: "run" }}>Everything else in this run</Go>
      </p>
    </State>
  );
}

function Go({ to, children }: { to: Partial<Place>; children: preact.ComponentChildren }) {
  const session = useSession();
  return (
    <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
      {children}
    </a>
  );
}

/** Links to the reports of each split, the newest first. */
export function Others({ reports }: Props) {
  return (
    <ul class={style["others"]}>
      {reports.map((one) => (
        <li key={one.split}>
          <OfSplit {...one} />
        </li>
      ))}
    </ul>
  );
}

function OfSplit({ split, steps }: ReportSteps) {
  const session = useSession();
  const [shown, show] = useState(STEPS);
  const { split: here, step } = session.place.now.value;
  return (
    <>
      <b>
        <Text text={split} />
      </b>{" "}
      {steps
        .toReversed()
        .slice(0, shown)
        .map((other) => (
          <a
            key={other}
            class="action strong"
            href={session.place.href({ page: "report", split, step: other })}
            onClick={session.place.onLink({ page: "report", split, step: other })}
            aria-current={split === here && other === step ? "true" : undefined}
            aria-label={`${split}, step ${other}`}
          >
            {figure(other)}
          </a>
        ))}
      {steps.length > shown && (
        <button
          type="button"
          class="action strong"
          onClick={() => show(shown + 10 * STEPS)}
        >{`${count(steps.length - shown, "older step")}: show`}</button>
      )}
    </>
  );
}
