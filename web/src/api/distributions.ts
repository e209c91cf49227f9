/** How a sample metric is distributed over the steps, and the values of several at one step. */

import { get } from "./client";
import type { DistributionReply, StepValuesReply } from "./types.gen";

type DistributionAsk = {
  name: string;
  split: string;
  where: string;
  columns: number;
  /** The first and the last step, if they are not those of the split. */
  step_min?: number | undefined;
  step_max?: number | undefined;
};

/** Counts of samples by step and range of values. With more steps than columns, neighbours share one. */
export const getDistribution = (run: string, ask: DistributionAsk) =>
  get<DistributionReply>(["runs", run, "distribution"], ask);

/** Of the metrics in `also`, which follow the others, the statistics alone. */
export const getStepValues = (
  run: string,
  ask: { split: string; step: number; names: readonly string[]; also: readonly string[] },
) => get<StepValuesReply>(["runs", run, "step-values"], ask);
