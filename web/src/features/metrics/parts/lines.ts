/** The lines of a chart: one for each of its curves and each run. */

import type { CatalogueEntry, WireNumber } from "../../../api/types.gen";
import { plain, textOf } from "../../../lib/charts/chart";
import type { Dash } from "../../../lib/charts/picture";
import type { Placed } from "../../../lib/charts/layout";
import { extent } from "../../../lib/numbers/curves";
import { finite } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { banded, type Curve, type Range } from "../../charts";
import type { Source } from "../groups/sources";
import type { Drawn } from "../useCurves";

/** The colours that runs have too, the least alike first: lines on each other must differ. */
const COLOURS = [1, 2, 4, 7, 3, 6, 5, 8, 9, 10] as const;
/** Of another run than the page's, in a chart of several curves: their colours tell the curves apart. */
const OF_OTHER_RUN: Dash = [4, 3];
const WHOLE: Dash = [];

export interface Line {
  curve: Curve | null;
  name: string;
  colour: number;
  dash: Dash;
}

/** A curve of a chart, with its lines: that of the run first. */
export interface Row {
  /** What the layout calls it. */
  text: string;
  entry: CatalogueEntry;
  title: string;
  colour: number;
  dash: Dash;
  lines: readonly Line[];
}

/**
 * The curves of a chart; `sources` begin with the run of the page, unless they are groups. Of several curves none has
 * the colour of the run, and those with `dashes` are broken.
 */
export function rowsOf(
  placed: Placed,
  curves: readonly (readonly Drawn[])[] | undefined,
  sources: readonly Source[],
  dashes: readonly Dash[] = [],
): Row[] {
  const own = sources[0]?.colour ?? 1;
  const colours = COLOURS.filter((one) => one !== own);
  const all = [placed, ...placed.series];
  return all.map((entry, i) => {
    const colour = all.length > 1 ? (colours[i] ?? 1) : own;
    const dash = dashes[i] ?? WHOLE;
    const title = harmless(i === 0 && all.length > 1 ? placed.curve : entry.title);
    const lines = sources.map((source, at): Line => ({
      curve: curves?.[i]?.[at]?.curve ?? null,
      name: [...(all.length > 1 ? [title] : []), ...(at > 0 || all.length === 1 ? [source.name] : [])].join(" · "),
      colour: all.length > 1 ? colour : source.colour,
      dash: all.length > 1 && at > 0 ? OF_OTHER_RUN : dash,
    }));
    return { text: textOf(plain(entry.chart)), entry, title, colour, dash, lines };
  });
}

const NOTHING: Curve = { steps: [], mean: [], smooth: [], std: [] };

/** The lines to draw: that of the run in the first curve, and all others; null without any. */
export function drawnOf(rows: readonly Row[], hidden: ReadonlySet<string>): { curve: Curve; others: Line[] } | null {
  const [main, ...others] = rows.flatMap(({ text, lines }) =>
    lines.map((line) => (hidden.has(text) && line.curve !== null ? { ...line, curve: blank(line.curve) } : line)),
  );
  if (main === undefined || rows.every(({ lines }) => lines[0]?.curve === null)) return null;
  return { curve: main.curve ?? NOTHING, others };
}

/** The same points without values: they keep their places, and the axis its range. */
const blank = (curve: Curve): Curve => {
  const { edges: _, ...rest } = curve;
  const none = curve.steps.map(() => null);
  return { ...rest, mean: none, smooth: none, std: [] };
};

/** The lines, each with a band of its own. */
export const withBands = (lines: readonly Line[], scale: number, between: string): Line[] =>
  lines.map(({ curve, ...line }) => ({
    curve: curve === null || scale === 0 ? curve : { ...banded(curve, scale, between), hasBand: true },
    ...line,
  }));

/** The range across of all points, where outliers are left out at its ends; null for that of what is drawn. */
export function reachOf(curves: readonly (readonly Drawn[])[] | undefined): Range | null {
  const all = (curves ?? []).flat().flatMap(({ data: { reach }, curve }) => {
    if (reach !== null) return reach;
    return curve === null ? [] : (extent(curve.x ?? curve.steps) ?? []);
  });
  return curves?.flat().some(({ data }) => data.reach !== null) === true ? extent(all) : null;
}

/** The place of the pointed step, else of the last value; -1 for none. */
export function placeOf(curve: Curve | null, pointed: number | null): number {
  if (curve === null) return -1;
  return pointed === null ? curve.mean.findLastIndex((value) => finite(value) !== null) : curve.steps.indexOf(pointed);
}

/** The value of the pointed step, else the last one: of the step alone, however much the page smooths. */
export const valueOf = (curve: Curve | null, pointed: number | null): WireNumber | undefined =>
  curve?.mean[placeOf(curve, pointed)];
