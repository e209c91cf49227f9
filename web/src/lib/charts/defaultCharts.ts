/** The default charts beside the rollouts: those that say most about the progress of a run. */

import type { CatalogueEntry, ColumnInfo } from "../../api/types.gen";
import { isScore } from "../list/metricNames";
import { type Chart, chart, isSame } from "./chart";
import { CLOCK, ENTROPY, first, KL, LOSS, MOST_PARTS, NORM, ofTraining, REWARD } from "./patterns";
import { tellingCharts } from "./usualLayout";

/** The number of charts that fill the pane, with that of the reward. */
const MOST = 5;

interface Given {
  columns: readonly ColumnInfo[];
  /** Token series. */
  series: readonly string[];
  /** All curves of the run; none before they are known. */
  entries: readonly CatalogueEntry[];
  hasDiscarded: boolean;
  isOneStep: boolean;
}

/**
 * The charts below the reward. Charts of samples come first, so that the catalogue, which arrives later, moves none.
 */
export function usualCharts({ columns, series, entries, hasDiscarded, isOneStep }: Given): Chart[] {
  const logged = entries.filter(({ kind }) => kind === "trainer").map(({ name }) => name);
  // Without samples there are only logged metrics.
  if (columns.length === 0 && series.length === 0) return bareCharts(logged);
  const numbers = columns.filter(({ kind, low, high }) => kind === "number" && low !== null && low !== high);
  const names = numbers.map(({ name }) => name);
  const has = (name: string): boolean => names.includes(name);
  const available = [...names, ...series];
  const length = ["response_tokens", "response_chars"].find(has);
  const parts = numbers
    .filter(({ name, source }) => source === "metric" && /reward|score|correct|acc|pass/i.test(name) && !isScore(name))
    .map(({ name }) => name);
  const ofSamples = (name: string | undefined): Chart[] =>
    name === undefined ? [] : [chart(has(name) ? "sample" : "token", name)];
  const trainer = [KL, ENTROPY, NORM, LOSS]
    .filter((some) => first(some, available) === undefined)
    .flatMap((some) => first(some, ofTraining(logged)) ?? [])
    .map((name) => chart("trainer", name));
  const further = numbers.filter(({ name, source }) => source === "metric" && !isScore(name)).map(({ name }) => name);
  const early = [
    ...[length, first(KL, available), first(ENTROPY, available)].flatMap(ofSamples),
    ...(hasDiscarded ? [chart("share", "discarded")] : []),
    ...[...parts.slice(0, MOST_PARTS), has("turns") ? "turns" : undefined].flatMap(ofSamples),
    ...(isOneStep ? further.flatMap(ofSamples) : []),
  ];
  const later =
    entries.length === 0 || isOneStep
      ? []
      : tellingCharts(entries).filter((one) => !isDrawn(one, [...early, ...trainer]));
  const all = [...early, ...trainer, ...later, ...further.flatMap(ofSamples)];
  return all.filter((one, at) => all.findIndex((other) => isSame(one, other)) === at).slice(0, MOST);
}

/** True for the reward, and for a curve that is drawn already, whatever its title and section. */
function isDrawn(one: Chart, drawn: readonly Chart[]): boolean {
  const { kind, name, copy } = one;
  if (copy !== "") return false;
  return (kind === "sample" && name === "reward") || drawn.some((other) => other.kind === kind && other.name === name);
}

/** The charts of a run without samples: the most telling ones, then the first ones. */
function bareCharts(logged: readonly string[]): Chart[] {
  const usual = [REWARD, KL, ENTROPY, NORM, LOSS].flatMap((some) => first(some, ofTraining(logged)) ?? []);
  return [...new Set([...usual, ...logged.filter((name) => !CLOCK.test(name))])]
    .slice(0, MOST)
    .map((name) => chart("trainer", name));
}
