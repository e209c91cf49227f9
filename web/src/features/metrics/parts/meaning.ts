/** The meaning and the possible range of a chart's numbers. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { isShare } from "../../../lib/charts/chart";
import { chartOfEntry } from "../../../lib/charts/catalogue";
import type { Placed } from "../../../lib/charts/layout";
import { ownValue } from "../../../lib/data/record";
import { harmless } from "../../../lib/text/invisible";
import type { Session } from "../../../state/session";
import { type Bounds, boundsOf, kindOf, NO_BOUNDS } from "../../charts";
import { wordsOfFigure } from "../figure/figure";

/** The meaning of the numbers, if the title leaves it open. */
const FIGURES: Readonly<Record<string, string>> = { sample: "mean", token: "mean over tokens", eval: "mean score" };

/** The same, with the statistic that a person chose. */
export function meaning({ kind, name, title, curve, unit }: Placed, drawing: string): string {
  const chosen = wordsOfFigure(drawing, kind);
  const isRenamed = kind === "trainer" && title !== curve && title.toLowerCase() !== name.toLowerCase();
  if (isRenamed) return harmless(name); // the framework's own name
  return chosen === "" ? (ownValue(FIGURES, kind) ?? unit) : `${chosen}${kind === "token" ? " over tokens" : ""}`;
}

/** The widest bounds of all curves; changes and deviations have none. */
export function boundsOfAll(session: Session, rows: readonly { entry: CatalogueEntry }[], isFree: boolean): Bounds {
  const all = rows.map(({ entry }) => boundsIn(session, entry));
  const of = isFree
    ? NO_BOUNDS
    : { low: Math.min(...all.map(({ low }) => low)), high: Math.max(...all.map(({ high }) => high)) };
  return { ...of, isShare: all.every(({ isShare: is }) => is === true) };
}

function boundsIn(session: Session, entry: CatalogueEntry): Bounds {
  if (isShare(entry)) return boundsOf(0, 1, true);
  if (entry.low !== null || entry.high !== null) return boundsOf(entry.low, entry.high);
  return boundsOf(...kindOf(entry.kind).bounds(chartOfEntry(entry), session));
}
