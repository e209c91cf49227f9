/**
 * The columns of a chart: step, mean, smoothed mean, the two edges of the band. For other curves: the smoothed means,
 * the edges of their bands and, if the curves are few, the means.
 */

import type { CurveData, StepsReply, WireNumber } from "../../api/types.gen";
import { spanFor, USUAL_SPAN } from "../../lib/charts/chart";
import { shrinking, shrunk, smoothed } from "../../lib/numbers/curves";
import { finite } from "../../lib/numbers/numbers";

export type Column = (number | null | undefined)[];
export type Columns = [number[], ...Column[]];

/** A number by step, with its moving average and its spread. */
export interface Curve {
  steps: readonly number[];
  mean: readonly WireNumber[];
  smooth: readonly WireNumber[];
  std: readonly WireNumber[];
  /** x values instead of the steps, in the order of steps: they may fall, and several steps may share a value. */
  x?: readonly number[];
  /** True if its band is drawn even if it is not the first curve. */
  hasBand?: boolean;
  /** The edges of the band, if they are not mean ± spread. */
  edges?: { low: readonly WireNumber[]; high: readonly WireNumber[] };
}

/** The average of a whole curve, over the usual span unless another is given: its values if nothing is averaged. */
export function averageOf(
  steps: readonly number[],
  mean: readonly WireNumber[],
  wanted = USUAL_SPAN,
): readonly WireNumber[] {
  const span = spanFor(wanted, steps.length);
  return span === 0 ? mean : smoothed(steps, mean.map(finite), span);
}

const rewards = { bare: new WeakMap<StepsReply, Curve>(), banded: new WeakMap<StepsReply, Curve>() };

/**
 * The rewards of a run, smoothed here, since the reply has every step: always the same object, so that nothing is
 * redrawn. `hasBand`: its band is drawn also where it is not the first curve.
 */
export function rewardOf(reply: StepsReply, hasBand = false): Curve {
  const kept = hasBand ? rewards.banded : rewards.bare;
  const { steps, reward_mean: mean, reward_std: std } = reply;
  const curve = kept.get(reply) ?? { steps, mean, smooth: averageOf(steps, mean), std, hasBand };
  kept.set(reply, curve);
  return curve;
}

/** A curve that the server sent and smoothed: a long curve lacks points. */
export const curveOf = (data: CurveData): Curve => ({
  steps: data.steps,
  mean: data.values,
  smooth: data.smooth ?? data.values,
  std: data.spread ?? [],
  ...(data.x === null ? {} : { x: data.x }),
  ...(data.low === null || data.high === null ? {} : { edges: { low: data.low, high: data.high } }),
});

/** The curve with a band of `scale` standard deviations, or between its own edges, if it has any. */
export function banded({ edges, ...curve }: Curve, scale: number, between: string): Curve {
  if (scale === 0) return { ...curve, std: [] };
  if (between !== "") return edges === undefined ? { ...curve, std: [] } : { ...curve, edges };
  return scale === 1 ? curve : { ...curve, std: curve.std.map((one) => scaled(one, scale)) };
}

const scaled = (value: WireNumber, scale: number): WireNumber => {
  const number = finite(value);
  return number === null ? value : number * scale;
};

/** The least and the greatest possible value, which bound a band of standard deviations. */
export interface Bounds {
  /** The values are shares, which are read in percent. */
  isShare?: boolean;
  low: number;
  high: number;
}

/** The place of the lower edge of the band among the columns after the steps. */
const LOW_EDGE = 3;

export const NO_BOUNDS: Bounds = { low: -Infinity, high: Infinity };

/** The known bounds of the values; an unknown number is no bound. */
export const boundsOf = (low: WireNumber | undefined, high: WireNumber | undefined, isShare = false): Bounds => ({
  isShare,
  low: finite(low) ?? NO_BOUNDS.low,
  high: finite(high) ?? NO_BOUNDS.high,
});

/** Raw lines of more other curves would hide each other. */
const FEW_RAW = 3;

/** True if the raw lines of further curves are drawn, too. */
export const hasRaw = (others: readonly unknown[]): boolean => others.length <= FEW_RAW;

interface Rows {
  columns: Columns;
  /** The values of the columns, without the rows of other runs. */
  values: readonly Column[];
  /** The step of each row: of the curve itself if it has a point there, else of another curve. */
  steps: readonly number[];
  /** The rows of the points of each further curve, in ascending order. */
  further: readonly (readonly number[])[];
}

/** The upper and the lower edge of the band. */
export function bandOf({ mean: means, std: stds, edges }: Curve, bounds: Bounds): [high: Column, low: Column] {
  if (edges !== undefined) return [edges.high.map(finite), edges.low.map(finite)];
  const [mean, std] = [means.map(finite), stds.map(finite)];
  const edge = (sign: 1 | -1): Column =>
    mean.map((value, i) =>
      value === null ? null : Math.min(bounds.high, Math.max(bounds.low, value + sign * (std[i] ?? 0))),
    );
  return [edge(1), edge(-1)];
}

/** The columns of a run have `undefined` at the rows of other runs: its line continues over them. */
export function rowsOf(curve: Curve, others: readonly (Curve | null)[] = [], bounds: Bounds = NO_BOUNDS): Rows {
  const { steps, mean: means, smooth } = curve;
  const drawn = [means.map(finite), smooth.map(finite), ...bandOf(curve, bounds)];
  const further = hasRaw(others) ? [...others, ...others] : others;
  if (curve.x === undefined && others.every((other) => other === null))
    return {
      columns: [[...steps], ...drawn, ...further.map(() => steps.map(() => undefined))],
      values: drawn,
      steps,
      further: [],
    };
  const rows = rowsAcross([curve, ...others]);
  const lines: [at: number, column: Column][] = [
    ...drawn.map((column): [number, Column] => [0, column]),
    ...others.map((other, i): [number, Column] => [i + 1, (other?.smooth ?? []).map(finite)]),
    ...others.flatMap((other, i) =>
      other?.hasBand === true ? bandOf(other, bounds).map((column): [number, Column] => [i + 1, column]) : [],
    ),
    ...(hasRaw(others) ? others : []).map((other, i): [number, Column] => [i + 1, (other?.mean ?? []).map(finite)]),
  ];
  const blank: Column = rows.xs.map(() => undefined);
  const columns = lines.map(([at, values]) => {
    const column = blank.slice();
    rows.of[at]?.forEach((row, i) => {
      column[row] = values[i];
    });
    return column;
  });
  return {
    columns: [rows.xs, ...columns],
    values: lines.map(([, values]) => values),
    steps: rows.steps,
    further: others.map((other, i) => {
      const own = rows.of[i + 1] ?? [];
      return other?.x === undefined ? own : own.toSorted((one, next) => one - next);
    }),
  };
}

export const curvesOf = (curve: Curve, others?: readonly (Curve | null)[], bounds?: Bounds): Columns =>
  rowsOf(curve, others, bounds).columns;

/**
 * The rows of all points. Points of several curves share a row if they have the same x, and the same rank among points
 * of that x.
 */
interface RowsAcross {
  xs: number[];
  /** The step of each row, from the first curve that has a point there. */
  steps: readonly number[];
  /** For each curve the row of each of its points. */
  of: readonly (readonly number[])[];
}

const known = new WeakMap<readonly number[], { places: readonly (readonly number[])[]; rows: RowsAcross }>();

/** The rows of curves; the same object as long as no point changes its x. */
function rowsAcross(curves: readonly (Curve | null)[]): RowsAcross {
  const places = curves.flatMap((one) => (one === null ? [NOWHERE] : [one.steps, one.x ?? one.steps]));
  const [key = NOWHERE] = places;
  const last = known.get(key);
  if (last?.places.length === places.length && places.every((place, i) => place === last.places[i])) return last.rows;
  const rows = joined(curves);
  known.set(key, { places, rows });
  return rows;
}

const NOWHERE: readonly number[] = [];

function joined(curves: readonly (Curve | null)[]): RowsAcross {
  const counts = new Map<number, number>();
  const ranks = curves.map((one) => (one?.x === undefined ? null : ranksOf(one.x)));
  curves.forEach((one, at) =>
    (one?.x ?? one?.steps ?? []).forEach((x, i) =>
      counts.set(x, Math.max(counts.get(x) ?? 0, (ranks[at]?.[i] ?? 0) + 1)),
    ),
  );
  const xs: number[] = [];
  const first = new Map<number, number>();
  for (const x of Float64Array.from(counts.keys()).toSorted()) {
    first.set(x, xs.length);
    for (let rank = counts.get(x) ?? 0; rank > 0; rank -= 1) xs.push(x);
  }
  const of = curves.map((one, at) =>
    (one?.x ?? one?.steps ?? []).map((x, i) => (first.get(x) ?? 0) + (ranks[at]?.[i] ?? 0)),
  );
  const steps = xs.slice();
  for (let at = curves.length - 1; at >= 0; at -= 1)
    of[at]?.forEach((row, i) => {
      steps[row] = curves[at]?.steps[i] ?? 0;
    });
  return { xs, steps, of };
}

/** For each point, the number of earlier points with the same x; steps never repeat. */
function ranksOf(xs: readonly number[]): number[] {
  const counts = new Map<number, number>();
  return xs.map((x) => {
    const rank = counts.get(x) ?? 0;
    counts.set(x, rank + 1);
    return rank;
  });
}

/**
 * The columns without values that a logarithmic scale cannot show. There the lower edge of a band is the least value,
 * which keeps both edges.
 */
export function positive([steps, ...columns]: Columns): Columns {
  const least = columns
    .flat()
    .reduce<number>((low, value) => (value && value > 0 ? Math.min(low, value) : low), Infinity);
  const [mean = []] = columns;
  return [
    steps,
    ...columns.map((column, at) =>
      column.map((value, i) => {
        if (typeof value !== "number" || value > 0) return value;
        return at === LOW_EDGE && (mean[i] ?? 0) > 0 ? least : null;
      }),
    ),
  ];
}

/** The columns as they are drawn, with digits dropped from values whose distance would overflow. */
export function drawnOf(
  curve: Curve,
  others: readonly (Curve | null)[],
  bounds: Bounds,
  isLog: boolean,
): Omit<Rows, "values"> & { digits: number } {
  const { columns: all, values, steps, further } = rowsOf(curve, others, bounds);
  const columns = isLog ? positive(all) : all;
  const digits = shrinking(isLog ? columns.slice(1) : values);
  const drawn: Columns = digits === 0 ? columns : [columns[0], ...shrunk(columns.slice(1), digits)];
  return { columns: drawn, digits, steps, further };
}

/** The raw lines of further curves: the last columns, or none if the curves are many. */
export const rawOf = (others: readonly unknown[], rest: readonly Column[]): readonly Column[] =>
  hasRaw(others) && others.length > 0 ? rest.slice(-others.length) : [];

/** The places of further curves with a band; their columns follow those of the lines. */
export function bandsOf(
  others: readonly (Curve | null)[],
  rest: readonly Column[],
): { at: number; high: Column; low: Column }[] {
  const places = others.flatMap((one, at) => (one?.hasBand === true ? [at] : []));
  return places.map((at, i) => {
    const first = others.length + 2 * i;
    return { at, high: rest[first] ?? [], low: rest[first + 1] ?? [] };
  });
}
