/** The current run and split. */

import { computed, signal } from "@preact/signals";
import type { ReportSteps, RunItem, SplitItem } from "../../api/types.gen";
import { choicesOf } from "../../lib/address/splits";
import { runOf } from "../runs";
import { Store } from "../store";

export class RunStore extends Store {
  readonly now = computed<RunItem | null>(() => runOf(this.session.place.now.value.run) ?? null);

  /** The splits of the run to choose from, including all evaluations together. */
  readonly splitChoices = computed<readonly SplitItem[]>(() => choicesOf(this.now.value?.splits ?? []));

  /** The reports of a run, once its page of reports has asked for them. */
  readonly reports = signal<{ run: string; of: readonly ReportSteps[] }>({ run: "", of: [] });

  /** Splits with reports and without samples, such as those of an evaluator that writes no rollouts. */
  readonly reportsAlone = computed<readonly ReportSteps[]>(() => {
    const { run, of } = this.reports.value;
    const known = new Set(this.splitChoices.value.map(({ name }) => name));
    return run === this.now.value?.id ? of.filter(({ split }) => !known.has(split)) : [];
  });

  /** True if some samples of the split were not trained on. */
  readonly hasDiscarded = computed(() => (this.split.value?.discarded ?? 0) > 0);

  /** True if the address names a split that the run lacks, which is certain once the run is indexed. */
  readonly isSplitMissing = computed(
    () =>
      this.now.value?.progress.phase === "ready" &&
      this.splitChoices.value.length > 0 &&
      this.session.place.now.value.split !== null &&
      this.split.value === null,
  );

  readonly split = computed<SplitItem | null>(
    () => this.splitChoices.value.find((one) => one.name === this.session.place.now.value.split) ?? null,
  );
}
