/** Which charts stand beside the rollouts as long as the reader chose none: those that most say how a run goes. */

import type { ColumnItem } from "../../api/types.gen";
import { isScore } from "../list/metricNames";
import { type Chart, chart, isSame } from "./chart";

/** With the reward, which is always there, they fill the pane. */
const MOST = 5;

/** So many parts of the reward at most. */
const MOST_PARTS = 2;

const KL: readonly RegExp[] = [
  /^(?:kl|ref_kl|kl_div|kl_loss|approx_kl)$/,
  /^mismatch_kl$/,
  /(?:^|[._/])(?:kl|ref_kl|mismatch_kl|approx_kl|kl_div|kl_loss|kl_mean|avg_kl|kl_sample_train_v1)(?:[._/](?:mean|all))?$/,
];
const ENTROPY: readonly RegExp[] = [/^entropy$/, /(?:^|[._/])(?:policy_)?entropy(?:_loss)?(?:[._/](?:mean|all))?$/];
const LOSS: readonly RegExp[] = [/(?:^|[._/])(?:pg_loss|policy_loss|actor_loss|loss)(?:[._/](?:mean|all))?$/];
const REWARD: readonly RegExp[] = [
  /^rewards?$/,
  /(?:^|[._/])(?:rewards?|total_reward|score)(?:[._/](?:mean|avg|all|total))?$/,
];
/** What only says when something was logged. */
const CLOCK = /^_?(?:time|timestamp|runtime|step|epoch)$/;
const NORM: readonly RegExp[] = [/(?:^|[._/])grad_norm(?:[._/](?:mean|all))?$/];

interface Given {
  columns: readonly ColumnItem[];
  /** Token series. */
  series: readonly string[];
  /** What the trainer logged. */
  logged: readonly string[];
  hasDiscarded: boolean;
}

/**
 * The charts below the reward, the samples' own first: what the trainer logged comes later, and moves
 * nothing.
 */
export function usualCharts({ columns, series, logged, hasDiscarded }: Given): Chart[] {
  // Where there is no sample, what the trainer logged is all there is.
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
    .flatMap((some) => first(some, logged) ?? [])
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

/** The charts of a run that has no samples: what says most, then what comes first. */
function bareCharts(logged: readonly string[]): Chart[] {
  const known = [REWARD, KL, ENTROPY, NORM, LOSS].flatMap((some) => first(some, logged) ?? []);
  return [...new Set([...known, ...logged.filter((name) => !CLOCK.test(name))])]
    .slice(0, MOST)
    .map((name) => chart("trainer", name));
}

/** The first name that the first of the patterns fits that fits any. */
function first(patterns: readonly RegExp[], names: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const match = names.find((name) => pattern.test(name));
    if (match !== undefined) return match;
  }
  return undefined;
}
