/**
 * The ranges of colour scales: for rewards the declared range, else the values of the split; for metrics the declared
 * range.
 */

import { computed } from "@preact/signals";
import type { MetricRange } from "../../api/types.gen";
import { finite } from "../../lib/numbers/numbers";
import { type Range, rangeOf } from "../../lib/colour/scales";
import { Store } from "../store";

export class RangesStore extends Store {
  readonly reward = computed<Range>(() => {
    const declared = this.session.run.now.value?.reward_range ?? null;
    if (declared !== null) return { low: declared[0], high: declared[1] };
    const low = finite(this.session.run.split.value?.reward_min ?? null);
    const high = finite(this.session.run.split.value?.reward_max ?? null);
    return low === null || high === null ? { low: 0, high: 1 } : rangeOf(low, high);
  });

  readonly metrics = computed<ReadonlyMap<string, MetricRange>>(
    () => new Map(this.session.run.now.value?.metric_ranges.map((one) => [one.name, one])),
  );
}
