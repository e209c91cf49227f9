/** The bars of a prompt's steps: one for each step, or for several if there are too many. */

import type { PromptStep } from "../../api/types.gen";
import { finite } from "../../lib/numbers/numbers";

/** More bars have no room. */
export const MOST_BARS = 240;

export interface Bar {
  /** The places of its first step, and of the step after its last. */
  first: number;
  stop: number;
  /** The mean of the means of its steps; null for none. */
  mean: number | null;
  /** The share of its samples that were discarded. */
  discarded: number;
}

export function barsOf(steps: readonly PromptStep[], most = MOST_BARS): Bar[] {
  const bars = Math.min(most, steps.length);
  return Array.from({ length: bars }, (_, n) => {
    const first = Math.floor((n * steps.length) / bars);
    const stop = Math.floor(((n + 1) * steps.length) / bars);
    const own = steps.slice(first, stop);
    const means = own.map((step) => finite(step.reward_mean)).filter((mean) => mean !== null);
    const samples = own.reduce((sum, step) => sum + step.samples, 0);
    const discarded = own.reduce((sum, step) => sum + step.discarded, 0);
    return {
      first,
      stop,
      mean: means.length === 0 ? null : means.reduce((sum, mean) => sum + mean / means.length, 0),
      discarded: samples === 0 ? 0 : discarded / samples,
    };
  });
}

/** The place of the step at a share of the width. */
export const stepAt = (steps: number, share: number): number =>
  Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
