/** Two small curves by step: how common a finding is, and what it earns. */

import type { Finding } from "../../api/types.gen";
import { extent, path } from "../../lib/numbers/curves";
import { figure, signed } from "../../lib/numbers/numbers";
import { percent } from "../../lib/sample/discardReasons";
import style from "./Findings.module.css";

/** Above this share, early and late, the mean says more than the share. */
const NEARLY_ALL = 0.995;

export const isInAll = ({ first, last }: Pick<Finding, "first" | "last">): boolean =>
  Math.min(first, last) >= NEARLY_ALL;

const WIDTH = 240;
const HEIGHT = 44;

export function Trend({ of }: { of: Finding }) {
  const { prevalence, effect, first, last } = of;
  const { steps, shares, means, effects } = prevalence;
  if (steps.length < 2) return null;
  const [values, what] = isInAll(of) ? [means, "mean amount"] : [shares, "share of samples"];
  const most = Math.max(...values, 0.01);
  const [low, high] = extent(effects) ?? [0, 0];
  const around: [number, number] = [Math.min(low, 0), Math.max(high, 0)];
  const zero = around[1] === around[0] ? HEIGHT : (HEIGHT * around[1]) / (around[1] - around[0]);
  return (
    <figure class={style["trend"]}>
      <figcaption>
        {what} <b>up to {isInAll(of) ? figure(most) : percent(most, 1)}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={
          isInAll(of)
            ? `Mean amount by step: ${figure(means[0])} at first, ${figure(means.at(-1))} at last`
            : `Share of the samples by step: ${percent(first, 1)} early, ${percent(last, 1)} late`
        }
      >
        <path d={path(steps, values, WIDTH, HEIGHT, [0, most])} />
      </svg>
      <figcaption>
        effect <b>{`${signed(around[0])} to ${signed(around[1])}`}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`What it earns over its siblings by step: ${signed(effect)} over all`}
      >
        <path class={style["zero"]} d={`M0 ${zero}H${WIDTH}`} />
        <path d={path(steps, effects, WIDTH, HEIGHT, around)} />
      </svg>
      <p class={style["ends"]}>
        <span>step {figure(steps[0])}</span>
        <span>{figure(steps.at(-1))}</span>
      </p>
    </figure>
  );
}
