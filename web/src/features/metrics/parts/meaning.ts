/** What the numbers of a chart mean, and how far they can reach. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { chartOfEntry } from "../../../lib/charts/catalogue";
import type { Placed } from "../../../lib/charts/layout";
import { harmless } from "../../../lib/text/invisible";
import type { Session } from "../../../state/session";
import { type Bounds, boundsOf, kindOf } from "../../charts";
import { wordsOfFigure } from "../figure/figure";

/** The meaning of the numbers, where the title leaves it open. */
const FIGURES: Readonly<Record<string, string>> = { sample: "mean", token: "mean over tokens", eval: "mean score" };

/** The same, with what a person chose to draw. */
export function meaning({ kind, name, title, curve, unit }: Placed, drawing: string): string {
  const chosen = wordsOfFigure(drawing, kind);
  const isRenamed = kind === "trainer" && title !== curve && title.toLowerCase() !== name.toLowerCase();
  if (isRenamed) return harmless(name); // the framework's own name
  return chosen === "" ? (FIGURES[kind] ?? unit) : `${chosen}${kind === "token" ? " over tokens" : ""}`;
}

/** No curve goes beyond the widest bounds. */
export const boundsOfAll = (bounds: readonly Bounds[]): Bounds => ({
  low: Math.min(...bounds.map(({ low }) => low)),
  high: Math.max(...bounds.map(({ high }) => high)),
});

export function boundsIn(session: Session, entry: CatalogueEntry): Bounds {
  if (entry.unit.startsWith("share")) return boundsOf(0, 1);
  if (entry.low !== null || entry.high !== null) return boundsOf(entry.low, entry.high);
  return boundsOf(...kindOf(entry.kind).bounds(chartOfEntry(entry), session));
}
