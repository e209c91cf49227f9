/** Groups of equal rewards, from which the run learns nothing: their number, in all and by step. */

import type { RunGradient } from "../../../api/types.gen";
import { chart } from "../../../lib/charts/chart";
import { path } from "../../../lib/numbers/curves";
import { count, figure } from "../../../lib/numbers/numbers";
import { percent } from "../../../lib/sample/discardReasons";
import { To } from "../To";
import style from "./Gradient.module.css";

const WIDTH = 240;
const HEIGHT = 32;

export function Dead({
  reply: { samples: trained, discarded, groups, dead, single, by_step: steps, dead_samples: samples },
}: {
  reply: RunGradient;
}) {
  const shares = steps.map((one) => one.dead / one.groups);
  const most = Math.max(...shares, 0.01);
  const [first] = samples;
  if (single === groups) return <p>{count(groups, "group")} of one sample: without siblings, there is no gradient.</p>;
  return (
    <div class={style["dead"]}>
      <p>
        {count(trained, "trained sample")}
        {discarded > 0 && `, ${figure(discarded)} discarded (counted in groups only)`}. <b>{figure(dead)}</b> of{" "}
        {figure(groups)} groups ({percent(dead / groups, 1)}) have equal rewards
        {single > 0 && ` (${figure(single)} have one sample)`}, and no gradient.{" "}
        {first !== undefined && (
          <>
            <To place={{ page: "rollouts", split: "train", sample: first, view: "group" }} text="The latest" />,{" "}
            <To place={{ page: "metrics", charts: [chart("group", "without_spread")] }} text="chart" />
          </>
        )}
      </p>
      {dead > 0 && steps.length > 1 && (
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Share of such groups by step: up to ${percent(most, 1)}`}
        >
          <path
            d={path(
              steps.map(({ step }) => step),
              shares,
              WIDTH,
              HEIGHT,
              [0, most],
            )}
          />
        </svg>
      )}
    </div>
  );
}
