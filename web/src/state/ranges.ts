/** What colours are spread over: of rewards the declared range, else what the split has seen; of metrics the declared. */

import { computed } from "@preact/signals";
import type { MetricRange } from "../api/types.gen";
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

export const metricRanges = computed<ReadonlyMap<string, MetricRange>>(() => new Map(run.value?.metric_ranges.map((one) => [one.name, one])));
