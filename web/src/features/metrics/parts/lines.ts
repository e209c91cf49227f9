/** The lines of a chart: one for each of its curves and each run. */

import type { CatalogueEntry, WireNumber } from "../../../api/types.gen";
import { isShare, plain, textOf } from "../../../lib/charts/chart";
import type { Dash } from "../../../lib/charts/picture";
import type { Placed } from "../../../lib/charts/layout";
import { extent } from "../../../lib/numbers/curves";
import { nearest } from "../../../lib/numbers/nearest";
import { figure, finite, type score } from "../../../lib/numbers/numbers";
import { wordsOfValues } from "../../../lib/numbers/percent";
import { harmless } from "../../../lib/text/invisible";
import { banded, type Curve, type Range } from "../../charts";
import type { Source } from "../groups/sources";
import type { Drawn } from "../useCurves";

/** The colours of runs, the least alike first, because lines that overlap must differ. */
export const COLOURS = [1, 2, 9, 4, 5, 6, 7, 3, 8, 10] as const;
/** The dashes of curves in a chart whose colours tell the runs apart, as on the rest of the page. */
const OF_CURVES: readonly Dash[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4], [2, 6], [10, 3, 2, 3, 2, 3]];
const WHOLE: Dash = [];
/** With one run, more curves than these get colours: more kinds of dashes would look alike. */
const FEW_CURVES = 3;

export interface Line {
  curve: Curve | null;
  name: string;
  /** The run, or the group of runs. */
  source: string;
  colour: number;
  dash: Dash;
  /** Writes its values. */
  write: typeof score;
  /** A person hid the run. */
  isHidden: boolean;
}

/** A curve of a chart, with its lines, beginning with that of the run. */
export interface Row {
  /** Its text in the layout. */
  text: string;
  entry: CatalogueEntry;
  title: string;
  /** Null if its lines have the colours of their runs. */
  colour: number | null;
  dash: Dash;
  lines: readonly Line[];
  isHidden: boolean;
}

/**
 * The curves of a chart; `sources` begin with the run of the page, unless they are groups. Each line has the colour of
 * its run and the dash of its curve; a run with the colour of an earlier one has another dash. If one run has more than
 * a few curves, they have colours of their own and the given `dashes`. Changes are written with a sign.
 */
export function rowsOf(
  placed: Placed,
  curves: readonly (readonly Drawn[])[] | undefined,
  sources: readonly Source[],
  dashes: readonly Dash[] = [],
  isChange = false,
): Row[] {
  const own = sources[0]?.colour ?? 1;
  const colours = COLOURS.filter((one) => one !== own);
  const all = [placed, ...placed.series];
  const areMany = all.length > 1;
  const areRuns = sources.length > 1;
  const areOfRuns = areRuns || (areMany && all.length <= FEW_CURVES);
  return all.map((entry, i) => {
    const colour = areMany && !areOfRuns ? (colours[i] ?? 1) : own;
    const dash = (areMany && areOfRuns ? OF_CURVES : dashes)[i] ?? WHOLE;
    const dashAt = (at: number): Dash => {
      const before = sources.slice(0, at).filter((one) => one.colour === sources[at]?.colour).length;
      return before === 0 ? dash : (OF_CURVES[(i + before * all.length) % OF_CURVES.length] ?? WHOLE);
    };
    const title = harmless(i === 0 && areMany ? placed.curve : entry.title);
    const lines = sources.map((source, at): Line => ({
      curve: curves?.[i]?.[at]?.curve ?? null,
      name: [...(areMany ? [title] : []), ...(areRuns || !areMany ? [source.name] : [])].join(" · "),
      source: source.name,
      colour: areOfRuns ? source.colour : colour,
      dash: dashAt(at),
      write: wordsOfValues(isShare(entry), isChange),
      isHidden: source.isHidden,
    }));
    return {
      text: textOf(plain(entry.chart)),
      entry,
      title,
      colour: areMany && areRuns ? null : colour,
      dash,
      lines,
      isHidden: false,
    };
  });
}

/** Nobody can follow more lines of several runs. */
const MOST_LINES = 6;

/**
 * The curves, shown or hidden as `chosen` says, by their texts. If several runs have too many lines, only the first of
 * the other curves is shown.
 */
export function shownAs(rows: readonly Row[], chosen: ReadonlyMap<string, boolean>): Row[] {
  const runs = (rows[0]?.lines ?? []).filter(({ isHidden }) => !isHidden).length;
  const areMany = runs > 1 && rows.length * runs > MOST_LINES;
  return rows.map((row, i) => ({ ...row, isHidden: !(chosen.get(row.text) ?? (i === 0 || !areMany)) }));
}

const NOTHING: Curve = { steps: [], mean: [], smooth: [], std: [] };

/** The lines to draw: that of the run in the first curve, and all others; null without any. */
export function drawnOf(rows: readonly Row[]): { curve: Curve; others: Line[] } | null {
  const [main, ...others] = rows.flatMap(({ isHidden, lines }) =>
    lines.map((line) =>
      (isHidden || line.isHidden) && line.curve !== null ? { ...line, curve: blank(line.curve) } : line,
    ),
  );
  if (main === undefined || rows.every(({ lines }) => lines[0]?.curve === null)) return null;
  return { curve: main.curve ?? NOTHING, others };
}

/** A key that changes when other lines are drawn. */
export const keyOfRows = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map((row) => [row.isHidden, row.lines.map((one) => [one.name, one.colour, one.isHidden])]));

/** The same points without values, which keep the range of x. */
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

/** The range of x over all points, if outliers at its ends are left out; null for the range of the drawn points. */
export function reachOf(curves: readonly (readonly Drawn[])[] | undefined): Range | null {
  const all = (curves ?? []).flat().flatMap(({ data: { reach }, curve }) => {
    if (reach !== null) return reach;
    return curve === null ? [] : (extent(curve.x ?? curve.steps) ?? []);
  });
  return curves?.flat().some(({ data }) => data.reach !== null) === true ? extent(all) : null;
}

/** The index of the step nearest to the pointed one, else of the last value; -1 for none. */
export function placeOf(curve: Curve | null, pointed: number | null): number {
  if (curve === null) return -1;
  return pointed === null ? curve.mean.findLastIndex((value) => finite(value) !== null) : nearest(curve.steps, pointed);
}

/** The value at that step, never smoothed. */
export const valueOf = (curve: Curve | null, pointed: number | null): WireNumber | undefined =>
  curve?.mean[placeOf(curve, pointed)];

/** The last step of a line that ends before others of the chart; null for other lines. */
export function endOf({ curve }: Line, lines: readonly Line[]): number | null {
  const last = curve?.steps.at(-1);
  return last === undefined || lines.every((one) => (one.curve?.steps.at(-1) ?? last) <= last) ? null : last;
}

/** The drawn lines: a run without the curve has no value. */
export const shownOf = (lines: readonly Line[]): readonly Line[] =>
  lines.filter(({ curve, isHidden }) => curve !== null && !isHidden);

/** The value at the pointed step, else the last one, with its step if that differs. */
export function wordsOfValue(line: Line, lines: readonly Line[], pointed: number | null): string {
  const step = pointed === null ? endOf(line, lines) : (line.curve?.steps[placeOf(line.curve, pointed)] ?? pointed);
  const words = line.write(valueOf(line.curve, pointed), "–");
  return step === null || step === pointed ? words : `${words} at ${figure(step)}`;
}

/** The least and the greatest value at the pointed step, of many lines. */
export function reachAt(lines: readonly Line[], pointed: number): string {
  const shown = shownOf(lines);
  const [low, high] = extent(shown.map(({ curve }) => finite(valueOf(curve, pointed)))) ?? [];
  const write = shown[0]?.write;
  if (write === undefined || low === undefined || high === undefined) return "–";
  return `${write(low)} to ${write(high)} in ${figure(shown.length)} runs`;
}
