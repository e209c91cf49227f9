/** The charts of a run as long as the reader chose none. The names of what its trainer logged come after the first sample. */

import { computed, effect, signal } from "@preact/signals";
import { getMetricNames } from "../api";
import { usualCharts } from "../lib/usualCharts";
import { columns, tokenSeries } from "./columns";
import { place } from "./place";
import { run } from "./runs";
import { steps } from "./steps";
import { view } from "./view";

/** They are read from the trainer's files: what is waited for comes first. */
const LATER_MS = 400;

const logged = signal<{ run: string; version: string; names: readonly string[] }>({ run: "", version: "", names: [] });

/** A run without samples has nothing else to draw than what its trainer logged. */
const isBare = (): boolean => run.value?.splits.length === 0;

/** What is drawn by step below the reward now: what the address says, else the reader's own choice, else the usual. */
export const shownCharts = computed<readonly string[]>(() => place.value.charts ?? view.value.charts ?? usual.value);

const usual = computed<readonly string[]>(() => {
  const id = run.value?.id ?? "";
  // The columns of a run that has samples come later than the run.
  if (columns.value.length === 0 && !isBare()) return [];
  return usualCharts({
    columns: columns.value,
    series: tokenSeries.value,
    logged: logged.value.run === id ? logged.value.names : [],
    hasDiscarded: steps.value?.discarded.some((count) => count > 0) ?? false,
  });
});

export function startUsualCharts(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const id = run.value?.id ?? "";
    const version = run.value?.version ?? "";
    const isWanted = place.value.page === "rollouts" && (columns.value.length > 0 || isBare()) && view.value.charts === null && place.value.charts === null;
    const known = logged.peek();
    // Of a run that has nothing yet the trainer may have written since.
    const isKnown = known.run === id && (known.names.length > 0 || !isBare() || known.version === version);
    if (id === "" || !isWanted || isKnown) return;
    clearTimeout(timer);
    timer = setTimeout(() => void load(id, version), LATER_MS);
  });
}

async function load(id: string, version: string): Promise<void> {
  try {
    logged.value = { run: id, version, names: (await getMetricNames(id)).names };
  } catch {
    logged.value = { run: id, version, names: [] }; // the samples' own charts are there all the same
  }
}
