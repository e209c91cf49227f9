/**
 * The choices of the page of metrics: charts, smoothing, scale. The address holds them; the server keeps a person's
 * charts.
 */

import type { CatalogueEntry } from "../../api/types.gen";
import { MAX_CHARTS } from "../../lib/address/address";
import { chartOfEntry } from "../../lib/charts/catalogue";
import { STEP } from "../../lib/charts/across";
import { type Chart, chartOf, LOOKS, MOST_SPAN, textOf, USUAL_SPAN } from "../../lib/charts/chart";
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
import { choose, settings } from "../../state/browser/settings";
import type { Session } from "../../state/session";
import type { Limits, Range } from "../charts";

/** The actions of a card on its chart. */
export interface ChartTools {
  remove: () => void;
  /** Dragging begins. */
  grab: (event: PointerEvent) => void;
  /** An empty title restores that of the catalogue. */
  rename: (title: string) => void;
  /** Change how the chart is drawn; an empty option follows the page. */
  alter: Change;
  /** Draw the chart with the page's options again. */
  plain: () => void;
  /** Add a second chart of the same curve, with settings of its own; null once the page is full. */
  duplicate: (() => void) | null;
  /** Add or remove a curve, by its text. */
  join: (text: string) => void;
  part: (text: string) => void;
}

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
  renameSection: (from: string, to: string) => void;
  moveSection: (name: string, by: 1 | -1) => void;
  /** True once the page has as many charts as it may have. */
  isFull: boolean;
  /** The actions of a card on its chart; `grab` begins to drag it. */
  toolsAt: (at: number, grab: (at: number, event: PointerEvent) => void) => ChartTools;
}

/** The charts of a page or a pane, and its ways to replace them. */
interface Chosen {
  charts: readonly Chart[];
  placed: readonly Placed[];
  /** The charts with one more. */
  added: (placed: readonly Placed[], entry: CatalogueEntry) => Chart[];
  change: (charts: readonly Chart[]) => void;
  /** Change them after one, named by its title, was removed. */
  takeAway: (title: string, charts: readonly Chart[]) => void;
  /** Show them without keeping them. */
  look: (title: string, charts: readonly Chart[]) => void;
}

/** The layout of the page of metrics. */
export function layoutOf({ layout }: Session, entries: readonly CatalogueEntry[]): Layout {
  const charts = layout.charts.value ?? usualLayout(entries);
  return layoutIn(entries, {
    charts,
    placed: placedOf(charts, entries),
    added: (placed, entry) => added(placed, entry, entries),
    change: (changed) => layout.change(changed),
    takeAway: (title, changed) => layout.takeAway(title, changed),
    look: (title, changed) => layout.look(title, changed),
  });
}

export function layoutIn(entries: readonly CatalogueEntry[], { charts: chosen, placed, ...page }: Chosen): Layout {
  const known = new Set(placed.map((one) => keyOf(one.chart)));
  const missing = chosen.filter((one) => !known.has(keyOf(one)));
  const change = (charts: readonly Chart[]): void => page.change([...charts, ...missing]);
  const joinedAt = (entry: CatalogueEntry): number =>
    placed.findIndex(({ chart }) => chart.more.includes(textOf(chartOfEntry(entry))));
  const has = (entry: CatalogueEntry): boolean => known.has(keyOf(chartOfEntry(entry))) || joinedAt(entry) >= 0;
  const charts = placed.map((one) => one.chart);
  const without = (key: string): Chart[] => charts.filter((one) => keyOf(one) !== key);
  const isFull = chosen.length >= MAX_CHARTS;
  return {
    placed,
    entries,
    missing,
    has,
    toggle: (entry) => {
      const own = chartOfEntry(entry);
      if (known.has(keyOf(own))) change(without(keyOf(own)));
      else if (has(entry)) change(parted(placed, joinedAt(entry), textOf(own)));
      else change(page.added(placed, entry));
    },
    show: (wanted) => {
      const further = wanted.filter((one) => !has(one));
      const all = further.reduce((some, one) => page.added(placedOf(some, entries), one), charts);
      if (further.length > 0) page.look(further.map(({ title }) => title).join(", "), [...all, ...missing]);
    },
    moveTo: (from, to) => change(movedTo(placed, from, to)),
    moveBy: (from, by) => change(movedBy(placed, from, by)),
    toolsAt: (at, grab) => ({
      remove: () => page.takeAway(placed[at]?.title ?? "", [...charts.toSpliced(at, 1), ...missing]),
      alter: (look) => change(altered(placed, at, look)),
      grab: (event) => grab(at, event),
      rename: (title) => change(renamed(placed, at, title, entries)),
      plain: () => change(altered(placed, at, Object.fromEntries(LOOKS.map((name) => [name, ""])))),
      duplicate: isFull ? null : () => change(duplicated(placed, at)),
      join: (text) => change(joined(placed, at, text)),
      part: (text) => change(parted(placed, at, text)),
    }),
    renameSection: (from, to) => change(sectionRenamed(placed, from, to, entries)),
    moveSection: (name, by) => change(sectionMoved(placed, name, by)),
    isFull,
  };
}

/** Options of the page or of a chart, by their names in the address. */
export type Asked = Readonly<Record<string, string>>;
export type Change = (change: Asked) => void;

/** The usual bands of runs whose own viewer draws another one: RLLoggingBoard's has 0.2 standard deviations. */
const BANDS_OF: ReadonlyMap<string, string> = new Map([["rl_logging_board", "0.2"]]);

/** The options of the page: those of the address, else the reader's own, else the usual ones of the run. */
export const pageAsked = ({ place, layout, run }: Session): Asked => ({
  band: settings.value.band || (BANDS_OF.get(run.now.value?.format ?? "") ?? ""),
  zero: settings.value.fromZero ? "1" : "",
  ...place.field.ask.value,
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

/** The band of groups of runs, which a single run lacks. */
const OF_GROUPS = "min-max";

/** Change options of the page; an empty one restores the default. The reader keeps the band and the shift to zero. */
export function setOption(session: Session, change: Asked): void {
  const { band } = change;
  if (band !== undefined && band !== OF_GROUPS) choose({ band });
  if (change["zero"] !== undefined) choose({ fromZero: change["zero"] === "1" });
  const ask = { ...session.place.now.peek().ask, ...change };
  session.place.go({ ask: Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== "")) }, "late");
}
