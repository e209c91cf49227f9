/** What the page of metrics shows: charts, smoothing, scale. The address holds it, and this browser the charts. */

import type { CatalogueEntry } from "../../api/types.gen";
import { MAX_METRICS } from "../../lib/address/address";
import { chartOfEntry, usualMetrics } from "../../lib/charts/catalogue";
import { isSame, SPAN } from "../../lib/charts/chart";
import { whole } from "../../lib/numbers/numbers";
import { chooseMetrics, chosenMetrics } from "../../state/browser/metricChoice";
import type { Session } from "../../state/session";

export const MOST_SPAN = 50;

/** Entries with a chart: those of the address, else the reader's own, else the usual ones. */
export function shownOf(session: Session, entries: readonly CatalogueEntry[]): readonly CatalogueEntry[] {
  const { charts, run } = session.place.now.value;
  const chosen = charts ?? chosenMetrics(run ?? "");
  if (chosen === null) return usualMetrics(entries);
  return entries.filter((entry) => chosen.some((one) => isSame(one, chartOfEntry(entry)))).slice(0, MAX_METRICS);
}

/** True while the page chooses the charts. */
export const isUsual = (session: Session): boolean =>
  session.place.now.value.charts === null && chosenMetrics(session.place.now.value.run ?? "") === null;

/** Show these charts from now on; null for the usual ones. */
export function show(session: Session, entries: readonly CatalogueEntry[] | null): void {
  const charts = entries?.slice(0, MAX_METRICS).map(chartOfEntry) ?? null;
  chooseMetrics(session.place.now.peek().run ?? "", charts);
  session.place.go({ charts }, "replace");
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
