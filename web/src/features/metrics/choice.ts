/** What the page of metrics shows: charts, smoothing, scale. The address holds it, and the server a person's charts. */

import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry, usualMetrics } from "../../lib/charts/catalogue";
import { type Chart, SPAN } from "../../lib/charts/chart";
import { added, keyOf, movedBy, movedTo, type Placed, placedOf, renamed } from "../../lib/charts/layout";
import { whole } from "../../lib/numbers/numbers";
import type { Session } from "../../state/session";

export const MOST_SPAN = 50;

/** The charts of the page, and the ways to change them. */
export interface Layout {
  /** The charts to draw, in their order. */
  placed: readonly Placed[];
  /** Charts of which the run has no curve: they stay in the layout. */
  missing: readonly Chart[];
  has: (entry: CatalogueEntry) => boolean;
  toggle: (entry: CatalogueEntry) => void;
  /** A chart takes the place of another. */
  moveTo: (from: number, to: number) => void;
  moveBy: (from: number, by: 1 | -1) => void;
  /** An empty title is that of the catalogue. */
  rename: (at: number, title: string) => void;
}

export function layoutOf({ layout }: Session, entries: readonly CatalogueEntry[]): Layout {
  const chosen = layout.charts.value ?? usualMetrics(entries).map(chartOfEntry);
  const placed = placedOf(chosen, entries);
  const known = new Set(placed.map((one) => keyOf(one.chart)));
  const missing = chosen.filter((one) => !known.has(keyOf(one)));
  const change = (charts: readonly Chart[]): void => layout.change([...charts, ...missing]);
  const has = (entry: CatalogueEntry): boolean => known.has(keyOf(chartOfEntry(entry)));
  const without = (key: string): Chart[] => placed.map((one) => one.chart).filter((one) => keyOf(one) !== key);
  return {
    placed,
    missing,
    has,
    toggle: (entry) => change(has(entry) ? without(keyOf(chartOfEntry(entry))) : added(placed, entry, entries)),
    moveTo: (from, to) => change(movedTo(placed, from, to)),
    moveBy: (from, by) => change(movedBy(placed, from, by)),
    rename: (at, title) => change(renamed(placed, at, title, entries)),
  };
}

/** The span of the moving average in steps; 0 for none. */
export function spanOf(session: Session): number {
  const span = whole(session.place.now.value.ask["ema"] ?? "") ?? SPAN;
  return Math.min(MOST_SPAN, Math.max(0, span));
}

export const isLog = (session: Session): boolean => session.place.now.value.ask["log"] === "1";
export const hasBand = (session: Session): boolean => session.place.now.value.ask["band"] !== "0";

/** Change options of the page; an empty one is the usual one again. */
export function setOption(session: Session, change: Readonly<Record<string, string>>): void {
  const ask = { ...session.place.now.peek().ask, ...change };
  session.place.go({ ask: Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== "")) }, "replace");
}
