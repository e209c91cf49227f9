/** The notes below a chart: the number of samples behind its values, what it leaves out, and missing curves. */

import type { CurveData } from "../../../api/types.gen";
import { neededBy, samplesAt } from "../../../lib/charts/words/basis";
import type { Chart } from "../../../lib/charts/chart";
import { count, finite } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { type Asked, xOf } from "../choice";
import { pointsOf } from "../points/points";
import type { Drawn } from "../useCurves";
import { placeOf, type Row, shownOf } from "./lines";

type Curves = readonly (readonly Drawn[])[] | undefined;

/** Settings that the axes show anyway. */
const OF_AXES: ReadonlySet<string> = new Set(["figure", "where", "split", "x", "low", "high"]);

interface Given {
  chart: Chart;
  rows: readonly Row[];
  curves: Curves;
  pointed: number | null;
  /** x in words. */
  xName: string;
  /** Each curve begins at zero. */
  isShifted: boolean;
  isLog: boolean;
}

export function notesOf({ chart, rows, curves, pointed, xName, isShifted, isLog }: Given): string[] {
  const leftOut = sumOf(curves, ({ left_out }) => left_out);
  const withoutX = sumOf(curves, ({ without_x }) => without_x);
  return [
    isShifted ? "change since the first value" : "",
    ...basesOf(rows, curves, pointed),
    ownSettings(chart),
    leftOut > 0 ? `${count(leftOut, "outlier")} left out` : "",
    isLog && reachesZero(rows) ? "log: 0 and below left out" : "",
    ...errorsOf(rows, curves),
    withoutX > 0 ? `${count(withoutX, "step")} without ${harmless(xName)} left out` : "",
  ].filter((one) => one !== "");
}

const ownSettings = ({ look }: Chart): string =>
  Object.keys(look).some((name) => !OF_AXES.has(name)) ? "own settings" : "";

/** The number of samples behind the values at a step, for curves that some samples lack. */
export const basesOf = (rows: readonly Row[], curves: Curves, pointed: number | null): string[] =>
  rows.flatMap(({ title, entry, lines }, i) => {
    const place = placeOf(lines[0]?.curve ?? null, pointed);
    const words = samplesAt(curves?.[i]?.[0]?.data, place, neededBy(entry));
    if (words === "") return [];
    return rows.length > 1 ? [`${title}: ${words}`] : [words];
  });

const sumOf = (curves: Curves, of: (data: CurveData) => number): number =>
  (curves ?? []).flat().reduce((sum, { data }) => sum + of(data), 0);

/** Why another curve of the chart is missing. */
const errorsOf = (rows: readonly Row[], curves: Curves): string[] =>
  rows.slice(1).flatMap(({ title }, i) => {
    const error = curves?.[i + 1]?.[0]?.data.error ?? "";
    return error === "" ? [] : [`${title}: ${harmless(error)}`];
  });

/** True if a logarithmic axis cannot show some values. */
const reachesZero = (rows: readonly Row[]): boolean =>
  rows.some(({ lines }) => shownOf(lines).some(({ curve }) => curve?.mean.some((one) => (finite(one) ?? 1) <= 0)));

interface MapGiven {
  chart: Chart;
  asked: Asked;
  leftOut: number;
}

/** What a distribution cannot do: it is always by step. */
export function notesOfMap({ chart, asked, leftOut }: MapGiven): string[] {
  const isElsewhere = xOf(asked) !== "";
  return [
    isElsewhere ? "by step: a distribution has no other x" : "",
    pointsOf(asked).from_zero ? "values as they are, not shifted" : "",
    ownSettings(chart),
    leftOut > 0 ? `${count(leftOut, "outlier")} left out` : "",
  ].filter((one) => one !== "");
}
