/** The range of rewards that colours are spread over: the declared one, else what the split has seen. */

import { computed } from "@preact/signals";
import { finite } from "../lib/numbers";
import { type Range, rangeOf } from "../lib/reward";
import { run, split } from "./runs";

export const range = computed<Range>(() => {
  const declared = run.value?.reward_range ?? null;
  if (declared !== null) return { low: declared[0], high: declared[1] };
  const low = finite(split.value?.reward_min ?? null);
  const high = finite(split.value?.reward_max ?? null);
  return low === null || high === null ? { low: 0, high: 1 } : rangeOf(low, high);
});
