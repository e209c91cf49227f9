/** How a sample metric is distributed over the steps. */

import { get } from "./client";
import type { DistributionReply } from "./types.gen";

type DistributionAsk = {
  name: string;
  split: string;
  where: string;
  columns: number;
  /** The first and the last step, if they differ from those of the split. */
  step_min?: number | undefined;
  step_max?: number | undefined;
};

/** Counts of samples by step and range of values. With more steps than columns, neighbours share one. */
export const getDistribution = (run: string, ask: DistributionAsk) =>
  get<DistributionReply>(["runs", run, "distribution"], ask);
