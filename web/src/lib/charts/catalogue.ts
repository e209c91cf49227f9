/** The catalogue of a run's curves: its charts, its sections, a search in it, and the charts to begin with. */

import type { CatalogueEntry } from "../../api/types.gen";
import { type Chart, chart } from "./chart";
import { CLOCK, ENTROPY, first, KL, LOSS, NORM, REWARD } from "./defaultCharts";

/** The chart of an entry. The split of the page stays open, except for an evaluation, which is a split itself. */
export const chartOfEntry = ({ kind, name, source, stat }: CatalogueEntry): Chart =>
  chart(kind, name, { source: kind === "eval" ? source : "", stat });

/** True for curves that are made to stand across a chart: they only rise. */
export const isProgress = (kind: string): boolean => kind === "elapsed" || kind === "cumulative";

export interface Section<T> {
  name: string;
  entries: T[];
}

/** Entries by section, in the order of the catalogue. */
export function sectionsOf<T extends { section: string }>(entries: readonly T[]): Section<T>[] {
  const sections = new Map<string, T[]>();
  for (const entry of entries) {
    const all = sections.get(entry.section);
    if (all === undefined) sections.set(entry.section, [entry]);
    else all.push(entry);
  }
  return [...sections].map(([name, all]) => ({ name, entries: all }));
}

/** The pattern of a search, or the reason why it is invalid. An empty one matches everything. */
export function patternOf(text: string): RegExp | string {
  try {
    return new RegExp(text, "iu");
  } catch (error) {
    return error instanceof Error ? (error.message.split(": ").at(-1) ?? "") : "";
  }
}

/** Entries whose own name, title or section matches. */
export const matching = (entries: readonly CatalogueEntry[], pattern: RegExp): CatalogueEntry[] =>
  entries.filter(({ name, section, title }) => pattern.test(name) || pattern.test(`${section}/${title}`));

const MISMATCH: readonly RegExp[] = [
  /^mismatch_kl$/,
  /(?:^|[._/])mismatch_kl(?:[._/](?:mean|all))?$/,
  /(?:^|[._/])\w*mismatch\w*(?:[._/](?:mean|all))?$/,
];
/** Fewer charts say little of a run: others fill up. */
const LEAST = 5;

/** The charts of a run that nobody has seen: reward and groups, length, evaluation, entropy, KL. */
export function usualMetrics(entries: readonly CatalogueEntry[]): CatalogueEntry[] {
  const named = (kind: string, ...names: string[]): CatalogueEntry | undefined =>
    names.map((name) => entries.find((one) => one.kind === kind && one.name === name)).find((one) => one !== undefined);
  const by = (patterns: readonly RegExp[]): CatalogueEntry | undefined =>
    ["token", "sample", "trainer"]
      .map((kind) => {
        const all = entries.filter((one) => one.kind === kind);
        const name = first(
          patterns,
          all.map((one) => one.name),
        );
        return all.find((one) => one.name === name);
      })
      .find((one) => one !== undefined);
  const wanted = [
    named("sample", "reward") ?? by(REWARD),
    named("group", "without_spread"),
    named("sample", "response_tokens", "response_chars"),
    named("share", "truncated"),
    entries.find(({ kind }) => kind === "eval"),
    by(ENTROPY),
    by(KL),
    by(MISMATCH),
    named("group", "all_best"),
    named("group", "all_worst"),
  ];
  const more = [by(NORM), by(LOSS), ...entries.filter(({ kind, name }) => !isProgress(kind) && !CLOCK.test(name))];
  const distinct = (all: readonly (CatalogueEntry | undefined)[]): CatalogueEntry[] =>
    [...new Set(all)].filter((one) => one !== undefined);
  const best = distinct(wanted);
  const enough = new Set(best.length < LEAST ? distinct([...best, ...more]).slice(0, LEAST) : best);
  return entries.filter((one) => enough.has(one));
}
