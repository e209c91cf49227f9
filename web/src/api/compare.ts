/** Several runs side by side: their configurations, their prompts at a step, and a metric in each. */

import { get, post } from "./client";
import type {
  ConfigTable,
  RewardComparison,
  RunMetricsReply,
  RunMetricsRequest,
  RunsCatalogueReply,
  SharedPromptsReply,
} from "./types.gen";

interface Page {
  offset: number;
  limit: number;
}

/** The keys of configurations that differ, or `all`; `find` is a part of a key or of a value. */
export const getConfigTable = (
  runs: readonly string[],
  query: Page & { all: boolean; find: string },
): Promise<ConfigTable> => get(["compare", "configs"], { run: runs, ...query });

/** The prompts that at least two of the runs answered at a step. */
export const getSharedPrompts = (
  runs: readonly string[],
  query: Page & { split: string; step: number; sort: string },
): Promise<SharedPromptsReply> => get(["compare", "prompts"], { run: runs, ...query });

/** Which of two runs, or of two recipes, earns the higher reward, over the second half of their common steps. */
export const getRewardComparison = (runs: readonly string[], split: string): Promise<RewardComparison> =>
  get(["compare", "rewards"], { run: runs, split });

/** A metric in each run. The answer may cover only some runs; the next request continues with the others. */
export const getRunMetrics = (request: RunMetricsRequest): Promise<RunMetricsReply> => post(["run-metrics"], request);

/** The curves that at least one run has. As above, the answer may cover only some runs. */
export const getRunsCatalogue = (): Promise<RunsCatalogueReply> => get(["catalogue"]);
