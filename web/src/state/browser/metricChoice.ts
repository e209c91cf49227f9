/** The charts that the reader chose on the page of metrics, by run. Stored in this browser. */

import { signal } from "@preact/signals";
import { MAX_METRICS } from "../../lib/address/address";
import { type Chart, chartsOf, textOf } from "../../lib/charts/chart";
import { fields, share } from "./storage";

/** The texts of the charts of each run, by its id. */
type MetricChoice = Readonly<Record<string, readonly string[]>>;

const KEY = "rolloupe.metrics";
/** The runs chosen for longest ago are forgotten. */
const MOST_RUNS = 60;

export const metricChoice = signal<MetricChoice>({});

/** The reader's charts of a run; null for the page's own choice. */
export function chosenMetrics(run: string): Chart[] | null {
  const texts = metricChoice.value[run];
  return texts === undefined ? null : chartsOf(texts, MAX_METRICS);
}

/** Show these charts of a run from now on; null for the page's own choice. */
export function chooseMetrics(run: string, charts: readonly Chart[] | null): void {
  const others = Object.entries(metricChoice.peek()).filter(([id]) => id !== run);
  const own = charts === null ? [] : [[run, charts.map(textOf)] as const];
  metricChoice.value = Object.fromEntries([...others, ...own].slice(-MOST_RUNS));
}

/** The stored choices; invalid ones are left out. */
export function restored(text: string | null): MetricChoice {
  const values = Object.entries(fields<Record<string, unknown>>(text));
  return Object.fromEntries(
    values
      .slice(-MOST_RUNS)
      .flatMap(([run, charts]) => (Array.isArray(charts) ? [[run, chartsOf(charts, MAX_METRICS).map(textOf)]] : [])),
  );
}

/** Load the stored choices, then store all changes, in this tab and in the others. */
export const startMetricChoice = (): void => share(KEY, metricChoice, restored);
