/** How common a finding is by step, and below it what it earns: two small curves over the same steps. */

import type { FindingItem } from "../../api/types.gen";
import { extent, path } from "../../lib/numbers/curves";
import { figure, signed } from "../../lib/numbers/numbers";
import { percent } from "../../lib/sample/discardReasons";
import style from "./Findings.module.css";

const WIDTH = 240;
const HEIGHT = 44;

export function Trend({ of: { prevalence, effect, first, last } }: { of: FindingItem }) {
  const { steps, shares, effects } = prevalence;
  if (steps.length < 2) return null;
  const most = Math.max(...shares, 0.01);
  const [low, high] = extent(effects) ?? [0, 0];
  const around: [number, number] = [Math.min(low, 0), Math.max(high, 0)];
  const zero = around[1] === around[0] ? HEIGHT : (HEIGHT * around[1]) / (around[1] - around[0]);
  return (
    <figure class={style["trend"]}>
      <figcaption>
        share of samples <b>up to {percent(most, 1)}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Share of the samples by step: ${percent(first, 1)} early, ${percent(last, 1)} late`}
      >
        <path d={path(steps, shares, WIDTH, HEIGHT, [0, most])} />
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
