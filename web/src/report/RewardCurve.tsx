/** The mean reward by step, with a mark at the step of the open sample. */

import { path } from "../lib/numbers/curves";
import { figure, finite, score } from "../lib/numbers/numbers";
import { harmless } from "../lib/text/invisible";
import type { Curve } from "./answers";
import style from "./Report.module.css";

const WIDTH = 360;
const HEIGHT = 48;

export function RewardCurve({ of: { split, steps, means }, step }: { of: Curve; step: number | null }) {
  const [first = 0, last = 0] = [steps[0], steps.at(-1)];
  const isInside = step !== null && step >= first && step <= last;
  const x = isInside ? ((step - first) / (last - first)) * WIDTH : null;
  const words = `${score(means[0])} at step ${figure(first)}, ${score(means.at(-1))} at step ${figure(last)}`;
  return (
    <figure class={style["curve"]}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Mean reward of ${harmless(split)}: ${words}`}
      >
        <path d={path(steps, means.map(finite), WIDTH, HEIGHT)} vector-effect="non-scaling-stroke" />
        {x !== null && <line x1={x} x2={x} y1="0" y2={HEIGHT} vector-effect="non-scaling-stroke" />}
      </svg>
      <figcaption>
        Mean reward of {harmless(split)}: {words}
        {isInside && `; the line is at step ${figure(step)}`}.
      </figcaption>
    </figure>
  );
}
