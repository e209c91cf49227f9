/** The charts of a run by default. The names of logged metrics are loaded after the first sample. */

import { computed, signal } from "@preact/signals";
import { askMetrics } from "../../api";
import type { Chart } from "../../lib/charts/chart";
import { usualCharts } from "../../lib/charts/defaultCharts";
import { ownCharts } from "../browser/settings";
import { Store } from "../store";

/** They are read from the trainer's files: more urgent requests come first. */
const LATER_MS = 400;

export class ChartsStore extends Store {
  readonly #logged = signal<{ run: string; version: string; names: readonly string[] }>({
    run: "",
    version: "",
    names: [],
  });

  /** A run without samples can only draw what its trainer logged. */
  readonly #isBare = (): boolean => this.session.run.now.value?.splits.length === 0;

  /** The current charts below the reward: those of the address, else the reader's own choice, else the default. */
  readonly shown = computed<readonly Chart[]>(() =>
    (this.session.place.now.value.charts ?? ownCharts.value ?? this.#usual.value).map((one) => this.#known(one)),
  );

  /** Addresses name token series as they name columns. */
  #known(one: Chart): Chart {
    const { columns } = this.session;
    const isSeries =
      one.kind === "sample" && columns.named(one.name) === null && columns.tokenSeries.value.includes(one.name);
    return isSeries ? { ...one, kind: "token" } : one;
  }

  readonly #usual = computed<readonly Chart[]>(() => {
    const id = this.session.run.now.value?.id ?? "";
    // The columns of a run with samples arrive after the run.
    if (this.session.columns.all.value.length === 0 && !this.#isBare()) return [];
    return usualCharts({
      columns: this.session.columns.all.value,
      series: this.session.columns.tokenSeries.value,
      logged: this.#logged.value.run === id ? this.#logged.value.names : [],
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
        (this.session.columns.all.value.length > 0 || this.#isBare()) &&
        ownCharts.value === null &&
        this.session.place.now.value.charts === null;
      const logged = this.#logged.peek();
      // The trainer of an empty run may have written since.
      const isKnown = logged.run === id && (logged.names.length > 0 || !this.#isBare() || logged.version === version);
      if (id === "" || !isWanted || isKnown) return;
      clearTimeout(timer);
      timer = setTimeout(() => void this.#load(id, version), LATER_MS);
    });
  }

  async #load(id: string, version: string): Promise<void> {
    try {
      this.#logged.value = { run: id, version, names: (await askMetrics(id)).names };
    } catch {
      this.#logged.value = { run: id, version, names: [] }; // the charts of samples are available anyway
    }
  }
}
