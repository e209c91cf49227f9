/** How far a run is: its newest step, of those that its configuration plans, and the time that it took. */

import { useMemo } from "preact/hooks";
import { getCurve } from "../../api/curves";
import type { RunItem } from "../../api/types.gen";
import { spanOfTime } from "../../lib/charts/across";
import { chart, recordOf } from "../../lib/charts/chart";
import { planOf } from "../../lib/data/plan";
import { count, figure, finite } from "../../lib/numbers/numbers";
import { activityOf } from "../../state/run/activity";
import { useFollowed } from "../../ui/hooks/useFollowed";
import style from "./RunPage.module.css";

export function Progress({ item, config }: { item: RunItem; config: unknown }) {
  const split = item.splits.find(({ last_step: last }) => last !== null);
  const curves = useFollowed(split === undefined ? null : item.id, item.version, () =>
    getCurve([item.id], recordOf(chart("elapsed", ""), split?.name ?? "")),
  ).value;
  const plan = useMemo(() => planOf(config), [config]);
  const { first_step: first = null, last_step: last = null } = split ?? {};
  if (first === null || last === null) return null;
  const done = last - Math.min(first, 1) + 1;
  const planned = plan === null || done > plan.steps + 1 ? null : plan.steps;
  const share = planned === null ? null : Math.min(1, done / planned);
  const times = curves?.[0];
  const start_s = finite(times?.values[0]);
  const end_s = finite(times?.values.at(-1));
  const took_s = start_s === null || end_s === null ? null : end_s - start_s;
  const steps = times === undefined ? 0 : (times.steps.at(-1) ?? 0) - (times.steps[0] ?? 0);
  const left_s =
    took_s === null || planned === null || steps < 1 ? null : (took_s / steps) * Math.max(0, planned - done);
  const isRunning = activityOf(item) === "running";
  return (
    <p class={style["progress"]}>
      {share !== null && <progress value={share} aria-label={`${Math.floor(100 * share)}% of the planned steps`} />}
      <span title={plan === null || planned === null ? undefined : `${plan.key} of the configuration`}>
        {planned === null
          ? `Newest step ${figure(last)}`
          : `${figure(Math.min(done, planned))} of ${count(planned, "step")}, ${Math.floor(100 * (share ?? 0))}%`}
      </span>
      {took_s !== null && took_s > 0 && <span>{spanOfTime(rounded(took_s))} from the first step to the newest</span>}
      {isRunning && left_s !== null && left_s > 0 && <b>about {spanOfTime(rounded(left_s))} left</b>}
    </p>
  );
}

/** Whole minutes for more than some of them: an estimate is no better. */
const rounded = (seconds: number): number => (seconds < 600 ? Math.round(seconds) : 60 * Math.round(seconds / 60));
