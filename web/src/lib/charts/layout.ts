/** The layout of the page of metrics: its charts in their order, each with its entry of the catalogue. */

import type { CatalogueEntry } from "../../api/types.gen";
import { MAX_METRICS } from "../address/address";
import { isRecord } from "../data/record";
import { chartOfEntry, sectionsOf } from "./catalogue";
import { type Chart, chartsOf, type Look, textOf, TITLE_CHARS } from "./chart";

/** A chart of the page: its entry under the title and in the section that the person gave them. */
export interface Placed extends CatalogueEntry {
  readonly chart: Chart;
}

/** What tells curves apart, whatever their charts are called. */
export const keyOf = ({ kind, name, source, stat }: Chart): string => JSON.stringify([kind, name, source, stat]);

/** What tells charts apart: a curve may have several. */
export const idOf = (chart: Chart): string => `${keyOf(chart)}${chart.copy}`;

/** The charts that the catalogue has, in the order in which they stand on the page. */
export function placedOf(charts: readonly Chart[], entries: readonly CatalogueEntry[]): Placed[] {
  const byKey = new Map(entries.map((entry) => [keyOf(chartOfEntry(entry)), entry]));
  const all = charts.flatMap((chart): Placed[] => {
    const entry = byKey.get(keyOf(chart));
    const { title, section } = chart;
    return entry === undefined
      ? []
      : [{ ...entry, title: title || entry.title, section: section || entry.section, chart }];
  });
  return sectionsOf(all).flatMap((section) => section.entries);
}

/** The charts with one more, where the catalogue has it. */
export function added(placed: readonly Placed[], entry: CatalogueEntry, entries: readonly CatalogueEntry[]): Chart[] {
  const order = new Map(entries.map((one, at) => [keyOf(chartOfEntry(one)), at]));
  const place = (chart: Chart): number => order.get(keyOf(chart)) ?? 0;
  const chart = chartOfEntry(entry);
  const after = placed.findLastIndex((one) => place(one.chart) < place(chart));
  return placed.map((one) => one.chart).toSpliced(after + 1, 0, chart);
}

/** The charts once one has taken the place, and the section, of another. */
export function movedTo(placed: readonly Placed[], from: number, to: number): Chart[] {
  const charts = placed.map((one) => one.chart);
  const [own, other] = [placed[from], placed[to]];
  return own === undefined || other === undefined
    ? charts
    : charts.toSpliced(from, 1).toSpliced(to, 0, { ...own.chart, section: other.section });
}

/** The charts once one has gone a place on, or back; at the end of its section it goes into the next one. */
export function movedBy(placed: readonly Placed[], from: number, by: 1 | -1): Chart[] {
  const [own, other] = [placed[from], placed[from + by]];
  if (own === undefined || other === undefined) return placed.map((one) => one.chart);
  if (own.section === other.section) return movedTo(placed, from, from + by);
  return placed.map((one) => one.chart).with(from, { ...own.chart, section: other.section });
}

/** The charts with another title for one; without one, or with that of the catalogue, it has the latter. */
export function renamed(
  placed: readonly Placed[],
  at: number,
  title: string,
  entries: readonly CatalogueEntry[],
): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined) return charts;
  const given = title.trim().slice(0, TITLE_CHARS);
  const entry = entries.find((one) => keyOf(chartOfEntry(one)) === keyOf(own));
  return charts.with(at, { ...own, title: given === entry?.title ? "" : given });
}

/** The charts with another look for one: an empty value is that of the page. */
export function altered(placed: readonly Placed[], at: number, change: Look): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined) return charts;
  const look = Object.entries({ ...own.look, ...change }).filter(([, value]) => value !== "");
  return charts.with(at, { ...own, look: Object.fromEntries(look) });
}

const KIND = "rolloupe metrics layout";

/** A layout: its charts, and the text of what stands across all of them; empty for the step. */
export interface Kept {
  readonly charts: readonly Chart[];
  readonly x: string;
}

/** A layout as a file. */
export const fileOf = ({ charts, x }: Kept): string =>
  `${JSON.stringify({ what: KIND, version: 1, charts: charts.map(textOf), ...(x === "" ? {} : { x }) }, null, 2)}\n`;

/** The layout of a file; null for any other file. */
export function layoutInFile(text: string): Kept | null {
  try {
    const file: unknown = JSON.parse(text);
    const charts = isRecord(file) && file["what"] === KIND ? chartsIn(file) : null;
    return charts === null || !isRecord(file) ? null : { charts, x: xIn(file) };
  } catch {
    return null;
  }
}

/** The charts of a stored layout; null for none. */
export function chartsIn(layout: Readonly<Record<string, unknown>> | null): Chart[] | null {
  const charts = layout?.["charts"];
  return Array.isArray(charts) ? chartsOf(charts, MAX_METRICS) : null;
}

/** What stands across the charts of a stored layout; empty for the step. */
export function xIn(layout: Readonly<Record<string, unknown>> | null): string {
  const x = layout?.["x"];
  return typeof x === "string" ? x : "";
}
