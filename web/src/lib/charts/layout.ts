/** The layout of the page of metrics: its charts in their order, each with its entry of the catalogue. */

import type { CatalogueEntry } from "../../api/types.gen";
import { MAX_CHARTS } from "../address/address";
import { isRecord } from "../data/record";
import { chartOfEntry, sectionsOf } from "./catalogue";
import { type Chart, chartOf, chartsOf, type Look, MAX_SERIES, plain, textOf, TITLE_CHARS } from "./chart";

/** A chart of the page: its entry of the catalogue, with the title and the section that the person gave it. */
export interface Placed extends CatalogueEntry {
  readonly chart: Chart;
  /** The title of its first curve, whatever the chart is called. */
  readonly curve: string;
  /** A shorter title, for a narrow place. */
  readonly short?: string;
  /** Its other curves, if the catalogue has them. */
  readonly series: readonly Series[];
}

export interface Series extends CatalogueEntry {
  readonly chart: Chart;
}

/** A key that distinguishes curves, whatever their charts are called. */
export const keyOf = ({ kind, name, source, stat, options }: Chart): string =>
  JSON.stringify([
    kind,
    name,
    source,
    stat,
    ...(stat.startsWith("pass_") ? [options?.k ?? 1] : []),
    ...(options?.reason === undefined || options.reason === "" ? [] : [options.reason]),
  ]);

/** A key that distinguishes charts: a curve may have several. */
export const idOf = (chart: Chart): string => `${keyOf(chart)}${chart.copy}`;

/** The charts that the catalogue has, in the order of the page. */
export function placedOf(charts: readonly Chart[], entries: readonly CatalogueEntry[]): Placed[] {
  const byKey = new Map(entries.map((entry) => [keyOf(chartOfEntry(entry)), entry]));
  const seriesOf = ({ more }: Chart): Series[] =>
    more.flatMap((text) => {
      const further = chartOf(text);
      const entry = further === null ? undefined : byKey.get(keyOf(further));
      return further === null || entry === undefined ? [] : [{ ...entry, chart: further }];
    });
  const all = charts.flatMap((chart): Placed[] => {
    const entry = byKey.get(keyOf(chart));
    const { title, section } = chart;
    return entry === undefined
      ? []
      : [
          {
            ...entry,
            title: title || entry.title,
            section: section || entry.section,
            chart,
            curve: entry.title,
            series: seriesOf(chart),
          },
        ];
  });
  return sectionsOf(all).flatMap((section) => section.entries);
}

/** The charts with one more, in its place in the catalogue. */
export function added(placed: readonly Placed[], entry: CatalogueEntry, entries: readonly CatalogueEntry[]): Chart[] {
  const order = new Map(entries.map((one, at) => [keyOf(chartOfEntry(one)), at]));
  const place = (chart: Chart): number => order.get(keyOf(chart)) ?? 0;
  const chart = chartOfEntry(entry);
  const after = placed.findLastIndex((one) => place(one.chart) < place(chart));
  return placed.map((one) => one.chart).toSpliced(after + 1, 0, chart);
}

/** The charts after one has moved to the place, and the section, of another. */
export function movedTo(placed: readonly Placed[], from: number, to: number): Chart[] {
  const charts = placed.map((one) => one.chart);
  const [own, other] = [placed[from], placed[to]];
  return own === undefined || other === undefined
    ? charts
    : charts.toSpliced(from, 1).toSpliced(to, 0, { ...own.chart, section: other.section });
}

/** The charts after one has moved by a place; at the end of its section it moves into the next section. */
export function movedBy(placed: readonly Placed[], from: number, by: 1 | -1): Chart[] {
  const [own, other] = [placed[from], placed[from + by]];
  if (own === undefined || other === undefined) return placed.map((one) => one.chart);
  if (own.section === other.section) return movedTo(placed, from, from + by);
  return placed.map((one) => one.chart).with(from, { ...own.chart, section: other.section });
}

/** The charts with a new title for one; an empty title restores that of the catalogue. */
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

/** The charts with a new look for one: an empty value follows the page. */
export function altered(placed: readonly Placed[], at: number, change: Look): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined) return charts;
  const look = Object.entries({ ...own.look, ...change }).filter(([, value]) => value !== "");
  return charts.with(at, { ...own, look: Object.fromEntries(look) });
}

const KIND = "rolloupe metrics layout";

/** The charts with a copy of one, which has the same look until either changes. */
export function duplicated(placed: readonly Placed[], at: number): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined) return charts;
  const copies = charts.filter((one) => keyOf(one) === keyOf(own)).map(({ copy }) => Number(copy || 1));
  return charts.toSpliced(at + 1, 0, { ...own, copy: String(Math.max(...copies) + 1) });
}

/** The charts with one more curve in one of them. */
export function joined(placed: readonly Placed[], at: number, text: string): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined || own.more.length >= MAX_SERIES - 1 || [textOf(plain(own)), ...own.more].includes(text))
    return charts;
  return charts.with(at, { ...own, more: [...own.more, text] });
}

/** The charts after one has lost a curve; the second curve replaces a lost first one. */
export function parted(placed: readonly Placed[], at: number, text: string): Chart[] {
  const charts = placed.map((one) => one.chart);
  const own = charts[at];
  if (own === undefined) return charts;
  const [next = "", ...rest] = own.more;
  const first = chartOf(next);
  if (text !== textOf(plain(own)) || first === null)
    return charts.with(at, { ...own, more: own.more.filter((one) => one !== text) });
  const { look, section, copy } = own;
  return charts.with(at, { ...first, look, section: section || (placed[at]?.section ?? ""), copy, more: rest });
}

/** The charts with a new title for a section, which charts do not store if the catalogue has the same. */
export const sectionRenamed = (
  placed: readonly Placed[],
  from: string,
  to: string,
  entries: readonly CatalogueEntry[],
): Chart[] => {
  const given = to.trim().slice(0, TITLE_CHARS);
  return placed.map(({ chart: own, section }) => {
    if (section !== from) return own;
    const entry = entries.find((one) => keyOf(chartOfEntry(one)) === keyOf(own));
    return { ...own, section: given === entry?.section ? "" : given };
  });
};

/** The charts after a section has moved by a place. */
export function sectionMoved(placed: readonly Placed[], name: string, by: 1 | -1): Chart[] {
  const sections = sectionsOf(placed);
  const from = sections.findIndex((one) => one.name === name);
  const own = sections[from];
  const isThere = own !== undefined && sections[from + by] !== undefined;
  const moved = isThere ? sections.toSpliced(from, 1).toSpliced(from + by, 0, own) : sections;
  return moved.flatMap(({ entries }) => entries.map((one) => one.chart));
}

/** The options of a layout for all its charts, by their names in the address. */
export interface OfAll {
  /** The text of x; empty for the step. */
  readonly x: string;
  /** The key of configurations that groups the runs; empty for none. */
  readonly by: string;
}

export interface Kept extends OfAll {
  readonly charts: readonly Chart[];
}

/** A layout as a record; null for the usual one. */
export const settingOf = (charts: readonly Chart[] | null, { x, by }: OfAll): Record<string, unknown> | null => {
  const all = { ...(charts === null ? {} : { charts: charts.map(textOf) }), ...(x && { x }), ...(by && { by }) };
  return Object.keys(all).length === 0 ? null : all;
};

/** A layout as a file. */
export const fileOf = ({ charts, ...ofAll }: Kept): string =>
  `${JSON.stringify({ what: KIND, version: 1, ...settingOf(charts, ofAll) }, null, 2)}\n`;

/** The layout of a file; null for any other file. */
export function layoutInFile(text: string): Kept | null {
  try {
    const file: unknown = JSON.parse(text);
    const charts = isRecord(file) && file["what"] === KIND ? chartsIn(file) : null;
    return charts === null || !isRecord(file) ? null : { charts, ...ofAllIn(file) };
  } catch {
    return null;
  }
}

/** The charts of a stored layout; null for none. */
export function chartsIn(layout: Readonly<Record<string, unknown>> | null): Chart[] | null {
  const charts = layout?.["charts"];
  return Array.isArray(charts) ? chartsOf(charts, MAX_CHARTS) : null;
}

/** The options of a stored layout for all its charts. */
export function ofAllIn(layout: Readonly<Record<string, unknown>> | null): OfAll {
  const textAt = (name: keyof OfAll): string => {
    const text = layout?.[name];
    return typeof text === "string" ? text : "";
  };
  return { x: textAt("x"), by: textAt("by") };
}
