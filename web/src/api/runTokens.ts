/** The tokens of a run: series by step and by position, what rules take out, words. */

import { get } from "./client";
import type {
  TokenChangesReply,
  TokenMasksReply,
  TokenPositionsReply,
  TokenSeriesReply,
  TokenStepsReply,
  TokenWordsReply,
} from "./types.gen";

export const getTokenSeries = (run: string, split: string): Promise<TokenSeriesReply> =>
  get(["runs", run, "token-series"], { split });

export const getTokenSteps = (run: string, split: string, series: string): Promise<TokenStepsReply> =>
  get(["runs", run, "token-steps"], { split, series });

export const getTokenPositions = (
  run: string,
  split: string,
  series: string,
  step: number,
): Promise<TokenPositionsReply> => get(["runs", run, "token-positions"], { split, series, step });

export const getTokenMasks = (run: string, split: string): Promise<TokenMasksReply> =>
  get(["runs", run, "token-masks"], { split });

/** The token strings with most KL; without a step, of all steps. */
export const getTokenWords = (
  run: string,
  split: string,
  step: number | undefined,
  limit: number,
): Promise<TokenWordsReply> => get(["runs", run, "token-words"], { split, step, limit });

export interface Compare {
  split: string;
  before: number;
  after: number;
  by: string;
  min_tokens: number;
  limit: number;
}

/** The token strings that gain and lose most between two steps. */
export const getTokenChanges = (run: string, query: Compare): Promise<TokenChangesReply> =>
  get(["runs", run, "token-changes"], { ...query });
