/** The default layout of the page of metrics: what the run learns, whether it is stable, how it writes. */

import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry, isProgress } from "./catalogue";
import { type Chart, chart, textOf } from "./chart";
import { CLOCK, ENTROPY, first, KL, LOSS, MOST_PARTS, NORM, ofTraining, REWARD } from "./patterns";

const MISMATCH: readonly RegExp[] = [
  /^mismatch_kl$/,
  /(?:^|[._/])mismatch_kl(?:[._/](?:mean|all))?$/,
  /(?:^|[._/])\w*mismatch\w*(?:[._/](?:mean|all))?$/,
];
/** Scores of an evaluation that the trainer logged. */
const SCORED = /^(?:val|eval|test|validation)\b.*(?:acc|accuracy|score|reward|pass|correct|mean)\w*(?:[@/]\d+)?$/i;
/** Further rewards of a sample, as RLLoggingBoard names them. */
const OTHER_REWARDS = ["ref_reward", "valid_reward", "ref_valid_reward"];
/** With fewer charts, other curves fill up the layout. */
const LEAST = 5;
const MOST_EVALS = 3;

/** The charts in a row of a usual screen. */
const MOST_OF_POLICY = 3;

const [LEARNING, POLICY, LENGTH, EVALS] = ["Reward", "Policy", "Length and status", "Evals"];

/** The charts of a run without a layout, section by section. */
export function usualLayout(entries: readonly CatalogueEntry[]): Chart[] {
  const best = tellingCharts(entries);
  if (best.length >= LEAST) return best;
  const loss = firstEntry(entries, LOSS, "trainer");
  const more = [loss, ...entries.filter(({ kind, name }) => !isProgress(kind) && !CLOCK.test(name))];
  const known = new Set(best.flatMap((one) => [textOf({ ...one, section: "", title: "", more: [] }), ...one.more]));
  // Repeats the lengths of texts.
  if (best.some(({ name }) => name === "response_chars")) known.add(textOf(chart("sample", "derived.characters")));
  const further = new Map(charts("", ...more).map((one) => [textOf(one), one]));
  return [...best, ...[...further].filter(([text]) => !known.has(text)).map(([, one]) => one)].slice(0, LEAST);
}

/** The first entry of these kinds with a matching name. */
function firstEntry(
  entries: readonly CatalogueEntry[],
  patterns: readonly RegExp[],
  ...kinds: string[]
): CatalogueEntry | undefined {
  // The mismatch has a chart of its own.
  const isOf = (name: string): boolean => patterns !== KL || first(MISMATCH, [name]) === undefined;
  return kinds
    .map((kind) => {
      const all = entries.filter((one) => one.kind === kind && isOf(one.name));
      const names = all.map((one) => one.name);
      const name = first(patterns, kind === "trainer" ? ofTraining(names) : names);
      return all.find((one) => one.name === name);
    })
    .find((one) => one !== undefined);
}

/** The charts that say most about a run, section by section: what it learns, whether it is stable, how it writes. */
export function tellingCharts(entries: readonly CatalogueEntry[]): Chart[] {
  const named = (kind: string, ...names: string[]): CatalogueEntry | undefined =>
    names.map((name) => entries.find((one) => one.kind === kind && one.name === name)).find((one) => one !== undefined);
  const by = (patterns: readonly RegExp[], ...kinds: string[]): CatalogueEntry | undefined =>
    firstEntry(entries, patterns, ...kinds);
  // Alarms also refer to metrics of the trainer; a mean says more than the mean of each sample's largest value.
  const policy = (patterns: readonly RegExp[], mean: string): CatalogueEntry | undefined =>
    by(patterns, "token", "trainer") ?? named("sample", mean) ?? by(patterns, "sample");
  const ofSamples = named("sample", "reward");
  const reward = ofSamples ?? by(REWARD, "sample", "trainer");
  // Without a total, these are the only rewards of a run.
  const parts = entries.filter(({ kind, name }) => kind === "sample" && /^rewards?\./.test(name));
  const entropy = policy(ENTROPY, "derived.mean_entropy");
  const kl = policy(KL, "derived.mean_kl");
  // The KL of recorded tokens is another one.
  const isBesideTokens = kl?.kind === "trainer" && named("sample", "derived.mean_kl") !== undefined;
  const mismatch = policy(MISMATCH, "derived.mean_mismatch_kl");
  const ofPolicy = [
    ...titled(isBesideTokens ? "KL (trainer)" : "KL", charts(POLICY, kl)),
    ...titled("Entropy", charts(POLICY, entropy)),
    ...titled("Mismatch KL", charts(POLICY, mismatch)),
    ...titled("Gradient norm", charts(POLICY, by(NORM, "trainer"))),
  ];
  const evals = entries.filter(({ kind, stat }) => kind === "eval" && stat === "score");
  const scored = entries.filter(({ kind, name }) => kind === "trainer" && SCORED.test(name));
  return [
    ...(reward === undefined
      ? charts(LEARNING, ...parts.slice(0, MOST_PARTS))
      : beside(reward, ...OTHER_REWARDS.map((name) => named("sample", name)))),
    ...(ofSamples === undefined ? [] : [distribution(ofSamples)]),
    ...together(LEARNING, "Groups", [named("group", "mixed"), named("group", "all_best"), named("group", "all_worst")]),
    ...ofPolicy.slice(0, MOST_OF_POLICY),
    ...charts(LENGTH, named("sample", "response_tokens", "response_chars")),
    ...together(LENGTH, "Length, right and wrong", [
      named("outcome", "length_right"),
      named("outcome", "length_wrong"),
    ]),
    ...togetherOrApart(LENGTH, "Truncated and discarded", [named("share", "truncated"), named("share", "discarded")]),
    ...(evals.length > 0 ? charts(EVALS, ...evals.slice(0, MOST_EVALS)) : ofTrainer(scored.slice(0, MOST_EVALS))),
  ];
}

/** The reward with those of the reference and of a verifier, where rows have them, in one chart. */
function beside(reward: CatalogueEntry, ...others: readonly (CatalogueEntry | undefined)[]): Chart[] {
  const more = charts(LEARNING, ...others).map((other) => textOf({ ...other, section: "" }));
  return charts(LEARNING, reward).map((one) => Object.assign(one, { more }));
}

/** A second chart of the same curve. */
const distribution = (of: CatalogueEntry): Chart => ({
  ...chartOfEntry(of),
  copy: "2",
  title: "Reward distribution",
  section: of.section === LEARNING ? "" : LEARNING,
  look: { figure: "map" },
});

/** A chart for each entry that the run has, in `section`, else in that of the catalogue. */
const charts = (section: string, ...entries: readonly (CatalogueEntry | undefined)[]): Chart[] =>
  [...new Set(entries)].flatMap((one) =>
    one === undefined ? [] : [{ ...chartOfEntry(one), section: one.section === section ? "" : section }],
  );

/** Charts of the trainer's metrics with a title in words; all others have one. */
const titled = (title: string, all: readonly Chart[]): Chart[] =>
  all.flatMap((one) => (one.kind === "trainer" ? [{ ...one, title }] : [one]));

/** Evaluations of the trainer: their last names are often the same. */
const ofTrainer = (entries: readonly CatalogueEntry[]): Chart[] =>
  charts(EVALS, ...entries).map((one) => Object.assign(one, { title: one.name.replace(/^[^/]*\//, "") }));

/** One chart of several entries, so that the section fills a row; a chart for each if the run lacks some. */
function togetherOrApart(
  section: string,
  title: string,
  entries: readonly (CatalogueEntry | undefined)[],
): readonly Chart[] {
  const all = together(section, title, entries);
  return all.length > 0 ? all : charts(section, ...entries);
}

/** One chart of several entries, if the run has all of them. */
function together(section: string, title: string, entries: readonly (CatalogueEntry | undefined)[]): Chart[] {
  const [one, ...others] = charts(section, ...entries);
  if (one === undefined || entries.includes(undefined)) return [];
  return [{ ...one, title, more: others.map((other) => textOf({ ...other, section: "" })) }];
}
