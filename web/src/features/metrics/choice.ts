/**
 * The choices of the page of metrics: charts, smoothing, scale. The address holds them; the server keeps a person's
 * charts.
 */

import type { CatalogueEntry } from "../../api/types.gen";
import { MAX_METRICS } from "../../lib/address/address";
import { chartOfEntry } from "../../lib/charts/catalogue";
import { STEP } from "../../lib/charts/across";
import { type Chart, chartOf, textOf, USUAL_SPAN } from "../../lib/charts/chart";
import {
  added,
  altered,
  duplicated,
  joined,
  keyOf,
  movedBy,
  movedTo,
  parted,
  type Placed,
  placedOf,
  renamed,
  sectionMoved,
  sectionRenamed,
} from "../../lib/charts/layout";
import { usualLayout } from "../../lib/charts/usualLayout";
import { whole } from "../../lib/numbers/numbers";
import type { Session } from "../../state/session";
import type { Limits, Range } from "../charts";

export const MOST_SPAN = 50;

/** The charts of the page, and the ways to change them. */
export interface Layout {
  /** The charts to draw, in their order. */
  placed: readonly Placed[];
  /** The catalogue. */
  entries: readonly CatalogueEntry[];
  /** Charts whose curve the run lacks: they stay in the layout. */
  missing: readonly Chart[];
  has: (entry: CatalogueEntry) => boolean;
  toggle: (entry: CatalogueEntry) => void;
  /** Draw curves that the page does not draw yet, without keeping them. */
  show: (entries: readonly CatalogueEntry[]) => void;
  /** Moves a chart to the place of another one. */
  moveTo: (from: number, to: number) => void;
  moveBy: (from: number, by: 1 | -1) => void;
  /** Renames a chart; an empty title restores that of the catalogue. */
  rename: (at: number, title: string) => void;
  /** Change how one chart is drawn; an empty option follows the page. */
  alter: (at: number, change: Asked) => void;
  /** Draw a chart with the page's options again. */
  plain: (at: number) => void;
  remove: (at: number) => void;
  /** Add a second chart of the same curve, with the page's options until a person gives it settings of its own. */
  duplicate: (at: number) => void;
  /** Add a curve to a chart, or remove it, by its text. */
  join: (at: number, text: string) => void;
  part: (at: number, text: string) => void;
  renameSection: (from: string, to: string) => void;
  moveSection: (name: string, by: 1 | -1) => void;
  /** True once the page has as many charts as it may have. */
  isFull: boolean;
}

export function layoutOf({ layout }: Session, entries: readonly CatalogueEntry[]): Layout {
  const chosen = layout.charts.value ?? usualLayout(entries);
  const placed = placedOf(chosen, entries);
  const known = new Set(placed.map((one) => keyOf(one.chart)));
  const missing = chosen.filter((one) => !known.has(keyOf(one)));
  const change = (charts: readonly Chart[]): void => layout.change([...charts, ...missing]);
  const joinedAt = (entry: CatalogueEntry): number =>
    placed.findIndex(({ chart }) => chart.more.includes(textOf(chartOfEntry(entry))));
  const has = (entry: CatalogueEntry): boolean => known.has(keyOf(chartOfEntry(entry))) || joinedAt(entry) >= 0;
  const charts = placed.map((one) => one.chart);
  const without = (key: string): Chart[] => charts.filter((one) => keyOf(one) !== key);
  return {
    placed,
    entries,
    missing,
    has,
    toggle: (entry) => {
      const own = chartOfEntry(entry);
      if (known.has(keyOf(own))) change(without(keyOf(own)));
      else if (has(entry)) change(parted(placed, joinedAt(entry), textOf(own)));
      else change(added(placed, entry, entries));
    },
    show: (wanted) => {
      const further = wanted.filter((one) => !has(one));
      const all = further.reduce((some, one) => added(placedOf(some, entries), one, entries), charts);
      if (further.length > 0) layout.look(further.map(({ title }) => title).join(", "), [...all, ...missing]);
    },
    moveTo: (from, to) => change(movedTo(placed, from, to)),
    moveBy: (from, by) => change(movedBy(placed, from, by)),
    rename: (at, title) => change(renamed(placed, at, title, entries)),
    alter: (at, look) => change(altered(placed, at, look)),
    plain: (at) => change(charts.map((one, i) => (i === at ? { ...one, look: {} } : one))),
    remove: (at) => layout.takeAway(placed[at]?.title ?? "", [...charts.toSpliced(at, 1), ...missing]),
    duplicate: (at) => change(duplicated(placed, at)),
    join: (at, text) => change(joined(placed, at, text)),
    part: (at, text) => change(parted(placed, at, text)),
    renameSection: (from, to) => change(sectionRenamed(placed, from, to, entries)),
    moveSection: (name, by) => change(sectionMoved(placed, name, by)),
    isFull: chosen.length >= MAX_METRICS,
  };
}

/** Options of the page or of a chart, by their names in the address. */
export type Asked = Readonly<Record<string, string>>;
export type Change = (change: Asked) => void;

export const pageAsked = ({ place, layout }: Session): Asked => ({
  ...place.now.value.ask,
  x: layout.x.value,
  by: layout.by.value,
});

/** The options of a chart: its own, else those of the page. */
export const askedOf = (session: Session, { kind, look }: Chart): Asked => ({
  ...pageAsked(session),
  ...(kind === "eval" ? UNSMOOTHED : {}),
  ...look,
});

/** Evaluations have few points, so an average would say less than the values. */
const UNSMOOTHED: Asked = { ema: "0" };

/**
 * The span of the moving average in steps; 0 for none. If nobody chose, the span of the curve's record, else the usual
 * one.
 */
export function spanOf({ ema = "" }: Asked, own = USUAL_SPAN): number {
  const span = whole(ema);
  return span === null ? own : Math.min(MOST_SPAN, Math.max(0, span));
}

/** The key of configurations whose values divide the runs into groups; empty for none. */
export const groupOf = ({ by = "" }: Asked): string => by;

/** The ids of runs with hidden lines, as the address has them. */
export const hiddenRuns = ({ off = "" }: Asked): ReadonlySet<string> => new Set(off === "" ? [] : off.split("\n"));

/** Hide the lines of one more run, or show them again. */
export const withHidden = (hidden: ReadonlySet<string>, run: string): Asked => ({
  off: [...hidden]
    .filter((one) => one !== run)
    .concat(hidden.has(run) ? [] : run)
    .join("\n"),
});

export const isLog = ({ log }: Asked): boolean => log === "1";
export const hasMarks = ({ marks }: Asked): boolean => marks !== "0";

/** x; empty for the step. */
export const xOf = ({ x = "" }: Asked): string => (x === STEP ? "" : x);

/** x in words. */
export function xTitle(x: string, entries: readonly CatalogueEntry[]): string {
  if (x === "") return "step";
  const chart = chartOf(x);
  const entry = entries.find((one) => chart !== null && keyOf(chartOfEntry(one)) === keyOf(chart));
  return entry?.title ?? chart?.name ?? x;
}

/** The number that a person typed; null for none or an invalid one. */
export function numberOf(text: string): number | null {
  const number = Number(text.trim().replace("−", "-"));
  return text.trim() !== "" && Number.isFinite(number) ? number : null;
}

/** The ends of the axis of values. */
export const limitsOf = ({ low = "", high = "" }: Asked): Limits => [numberOf(low), numberOf(high)];

const ZOOM = /^([^:]+):([^:]+):(.*)$/su;

/** The range of x that a person drew, if it belongs to the current x. */
export function zoomOf(asked: Asked): Range | null {
  const [, from = "", to = "", x] = ZOOM.exec(asked["zoom"] ?? "") ?? [];
  const [low, high] = [numberOf(from), numberOf(to)];
  return low !== null && high !== null && low < high && x === xOf(asked) ? [low, high] : null;
}

export const zoomText = ([low, high]: Range, x: string): string =>
  `${Number(low.toPrecision(9))}:${Number(high.toPrecision(9))}:${x}`;

/** Change options of the page; an empty one restores the default. */
export function setOption(session: Session, change: Asked): void {
  const ask = { ...session.place.now.peek().ask, ...change };
  session.place.go({ ask: Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== "")) }, "replace");
}
