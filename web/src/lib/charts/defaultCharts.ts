/** The default charts beside the rollouts: those that say most about the progress of a run. */

import type { ColumnInfo } from "../../api/types.gen";
import { isScore } from "../list/metricNames";
import { type Chart, chart, isSame } from "./chart";

/** With the reward, which always has a chart, they fill the pane. */
const MOST = 5;

/** The most parts of the reward with a chart. */
export const MOST_PARTS = 2;

export const KL: readonly RegExp[] = [
  /^(?:kl|ref_kl|kl_div|kl_loss|approx_kl)$/,
  /^mismatch_kl$/,
  /(?:^|[._/])mean_kl$/,
  /(?:^|[._/])(?:(?:ref_|mismatch_|approx_|avg_)?kl|kl_(?:div|loss|mean|sample_train_v1))(?:[._/](?:mean|all))?$/,
];
export const ENTROPY: readonly RegExp[] = [
  /^entropy$/,
  /(?:^|[._/])(?:policy_)?entropy(?:_loss)?(?:[._/](?:mean|all))?$/,
];
export const LOSS: readonly RegExp[] = [/(?:^|[._/])(?:pg_loss|policy_loss|actor_loss|loss)(?:[._/](?:mean|all))?$/];
export const REWARD: readonly RegExp[] = [
  /^rewards?$/,
  /(?:^|[._/])(?:rewards?|total_reward|score)(?:[._/](?:mean|avg|all|total))?$/,
];
/** Metrics that only record times. */
export const CLOCK = /^_?(?:time|timestamp|runtime|step|epoch)$/;
/** What the trainer measured on samples that it does not learn from. */
const OF_EVALUATION = /^(?:val|eval|test|validation)\b.*\//;
export const NORM: readonly RegExp[] = [/(?:^|[._/])grad_norm(?:[._/](?:mean|all))?$/];

interface Given {
  columns: readonly ColumnInfo[];
  /** Token series. */
  series: readonly string[];
  /** Metrics that the trainer logged. */
  logged: readonly string[];
  hasDiscarded: boolean;
}

/** The charts below the reward. Those of samples come first: logged metrics arrive later, and then move no chart. */
export function usualCharts({ columns, series, logged, hasDiscarded }: Given): Chart[] {
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
  const all = [
    ...[length, first(KL, available), first(ENTROPY, available)].flatMap(ofSamples),
    ...(hasDiscarded ? [chart("share", "discarded")] : []),
    ...[...parts.slice(0, MOST_PARTS), has("turns") ? "turns" : undefined].flatMap(ofSamples),
    ...trainer,
    ...further.flatMap(ofSamples),
  ];
  return all.filter((one, at) => all.findIndex((other) => isSame(one, other)) === at).slice(0, MOST);
}

/** The charts of a run without samples: the most telling ones, then the first ones. */
function bareCharts(logged: readonly string[]): Chart[] {
  const usual = [REWARD, KL, ENTROPY, NORM, LOSS].flatMap((some) => first(some, ofTraining(logged)) ?? []);
  return [...new Set([...usual, ...logged.filter((name) => !CLOCK.test(name))])]
    .slice(0, MOST)
    .map((name) => chart("trainer", name));
}

/** Names that the trainer logged, without those of its evaluations. */
export const ofTraining = (logged: readonly string[]): string[] => logged.filter((name) => !OF_EVALUATION.test(name));

/** The first name that matches the first pattern with a match. */
export function first(patterns: readonly RegExp[], names: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const match = names.find((name) => pattern.test(name));
    if (match !== undefined) return match;
  }
  return undefined;
}
