/** The charts of a run by default. The catalogue of its curves is loaded after the first sample. */

import { computed, signal } from "@preact/signals";
import { getCatalogue } from "../../api/metrics";
import type { CatalogueEntry } from "../../api/types.gen";
import type { Chart } from "../../lib/charts/chart";
import { usualCharts } from "../../lib/charts/defaultCharts";
import { ownCharts } from "../browser/settings";
import { Store } from "../store";

/** It is read from the trainer's files too: more urgent requests come first. */
const LATER_MS = 400;

export class ChartsStore extends Store {
  readonly #catalogue = signal<{ of: string; version: string; entries: readonly CatalogueEntry[] }>({
    of: "",
    version: "",
    entries: [],
  });

  /** A run without samples can only draw what its trainer logged. */
  readonly #isBare = (): boolean => this.session.run.now.value?.splits.length === 0;

  /** The current charts below the reward: those of the address, else the reader's own choice, else the default. */
  readonly shown = computed<readonly Chart[]>(() =>
    (this.session.place.field.charts.value ?? ownCharts.value ?? this.#usual.value).map((one) => this.#known(one)),
  );

  /** Addresses name token series as they name columns. */
  #known(one: Chart): Chart {
    const { columns } = this.session;
    const isSeries =
      one.kind === "sample" && columns.named(one.name) === null && columns.tokenSeries.value.includes(one.name);
    return isSeries ? { ...one, kind: "token" } : one;
  }

  readonly #usual = computed<readonly Chart[]>(() => {
    // The columns of a run with samples arrive after the run.
    if (this.session.columns.all.value.length === 0 && !this.#isBare()) return [];
    return usualCharts({
      columns: this.session.columns.all.value,
      series: this.session.columns.tokenSeries.value,
      entries: this.#catalogue.value.of === this.#of() ? this.#catalogue.value.entries : [],
      isOneStep: this.session.steps.reply.value?.steps.length === 1,
      hasDiscarded: this.session.steps.reply.value?.discarded.some((count) => count > 0) ?? false,
    });
  });

  start(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.effect(() => {
      const id = this.session.run.now.value?.id ?? "";
      const version = this.session.run.now.value?.version ?? "";
      const isWanted =
        this.session.place.now.value.page === "rollouts" &&
        this.session.sample.isFirstDone.value &&
        (this.session.columns.all.value.length > 0 || this.#isBare()) &&
        ownCharts.value === null &&
        this.session.place.now.value.charts === null;
      const { of, version: known, entries } = this.#catalogue.peek();
      // The trainer of an empty run may have written since.
      const isKnown = of === this.#of() && (entries.length > 0 || !this.#isBare() || known === version);
      if (id === "" || !isWanted || isKnown) return;
      clearTimeout(timer);
      timer = setTimeout(() => void this.#load(id, version), LATER_MS);
    });
  }

  /** The run and the split that the catalogue is of. */
  #of(): string {
    return JSON.stringify([this.session.run.now.value?.id ?? "", this.session.place.field.split.value ?? ""]);
  }

  async #load(id: string, version: string): Promise<void> {
    const of = this.#of();
    let entries: readonly CatalogueEntry[] = [];
    try {
      ({ entries } = await getCatalogue(id, this.session.place.field.split.value ?? ""));
    } catch {
      // The charts of samples are available anyway.
    }
    this.#catalogue.value = { of, version, entries };
  }
}
