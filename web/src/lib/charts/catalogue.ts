/** The catalogue of a run's curves: its charts, its sections, and a search in it. */

import type { CatalogueEntry, CurveName } from "../../api/types.gen";
import { type Chart, chart } from "./chart";

/** The chart of an entry. The split of the page stays open, except for an evaluation, which is a split itself. */
export const chartOfEntry = ({ kind, name, source, stat, k, reason }: CatalogueEntry): Chart =>
  chart(kind, name, {
    source: kind === "eval" ? source : "",
    stat,
    options: k > 0 ? { k } : reason === "" ? null : { reason },
  });

/** Names a curve independently of its chart: all curves but evaluations have the split of the page. */
export const keyOfCurve = ({ kind, name, source }: CurveName): string =>
  [kind, name, ...(kind === "eval" ? [source] : [])].map(encodeURIComponent).join("/");

/** True for curves meant as x: they only rise. */
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
