/** The columns that a chart draws: step, mean, smoothed mean, and the two edges of the band. */

import type { StepsReply } from "../../api/types.gen";
import { smoothed } from "../../lib/curves";
import { finite } from "../../lib/numbers";

export type Columns = [number[], (number | null)[], (number | null)[], (number | null)[], (number | null)[]];

export function curvesOf({ steps, reward_mean, reward_std }: StepsReply, span: number): Columns {
  const mean = reward_mean.map(finite);
  const std = reward_std.map(finite);
  const edge = (sign: 1 | -1): (number | null)[] => mean.map((value, i) => (value === null ? null : value + sign * (std[i] ?? 0)));
  return [steps, mean, smoothed(mean, span), edge(1), edge(-1)];
}
