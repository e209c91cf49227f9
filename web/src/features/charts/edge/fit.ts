/**
 * The range of values of a chart. A few far points lie beyond its edge, and are counted, so the others are not flat.
 *
 * A curve may leave out the points farthest from its median: at most one in twenty, never the last point or those at
 * its beginning, where a run learns, and no more than bring the range near its least. A band may leave out its ends at
 * one point in five. Points are left out only if the others would have a third of the height or less with them. A curve
 * with equal quartiles keeps all points: its few other values are all that it shows.
 */

import { extent } from "../../../lib/numbers/curves";
import { count, finite } from "../../../lib/numbers/numbers";
import { wordsOfValues } from "../../../lib/numbers/percent";
import { bandOf, type Bounds, type Curve, hasRaw } from "../curvesOf";

/** In less than this share of the height, the other points look flat. */
const FLAT = 1 / 3;
const MOST_LEFT_OUT = 1 / 20;
/** More than may be left out: every point between these quantiles stays. */
const SURE = 1 / 16;
/** For the ends of bands, which say less than the values. */
const MOST_BANDS = 1 / 5;
/** With fewer points, none is left out. */
const LEAST_POINTS = 8;
/** A range counts as near the least one up to this multiple of its width. */
const NEAR = 1.5;

export type Ends = readonly [low: number, high: number];

/** A point with its band, if it has one, in the unit of the scale. */
interface Point {
  /** Its x. */
  x: number;
  value: number;
  row: Ends;
}

interface Strip {
  /** The range without far points, which has to sort them. */
  rest: () => Ends | null;
  /** The firm line. */
  line: Ends | null;
  /** Everything that is drawn. */
  whole: Ends | null;
}

/**
 * The range without far points; null if it has all points. On a logarithmic scale, distances are those of exponents.
 */
export function fitOf(curve: Curve, others: readonly (Curve | null)[], bounds: Bounds, isLog: boolean): Ends | null {
  const strips = [curve, ...others].flatMap((one, i) =>
    one === null ? [] : [stripOf(one, i === 0, others, bounds, isLog)],
  );
  const whole = union(strips.map((one) => one.whole));
  if (whole === null) return null;
  let rest: Ends | null = null;
  for (const one of strips) {
    rest = union([rest, one.rest()]);
    if (rest !== null && height(rest) > FLAT * height(whole)) return null; // the other curves cannot change this
  }
  if (rest === null || height(rest) === 0) return null;
  const lines = union([rest, ...strips.map(({ line }) => line)]) ?? rest;
  const [low, high] = height(rest) < FLAT * height(lines) ? rest : lines;
  return isLog ? [10 ** low, 10 ** high] : [low, high];
}

function stripOf(
  curve: Curve,
  isFirst: boolean,
  others: readonly (Curve | null)[],
  bounds: Bounds,
  isLog: boolean,
): Strip {
  const line = lineOf(curve, isLog);
  if (!isFirst && curve.hasBand !== true) {
    const whole = hasRaw(others) ? union([line, unbanded(curve, isLog).whole]) : line;
    return { line, rest: () => unbanded(curve, isLog).rest, whole };
  }
  const points = pointsOf(curve, true, bounds, isLog);
  const rows = points.map(({ row }) => row);
  return {
    line,
    rest: () =>
      restOf(
        points.map(({ value }) => value),
        rows,
      ),
    whole: union([line, ...rows]),
  };
}

/** The range of some points, and the same without far ones. */
type Measured = Record<"rest" | "whole", Ends | null>;

/** Ranges of values without a band, which do not change while a person moves the smoothing slider. */
const known = [new WeakMap<Curve["mean"], Measured>(), new WeakMap<Curve["mean"], Measured>()] as const;

function unbanded(curve: Curve, isLog: boolean): Measured {
  const of = known[isLog ? 1 : 0];
  const before = of.get(curve.mean);
  if (before !== undefined) return before;
  const values = curve.mean.map((mean) => scaled(finite(mean), isLog) ?? NaN).filter((value) => !Number.isNaN(value));
  const found = { rest: restOf(values, null), whole: extent(values) };
  of.set(curve.mean, found);
  return found;
}

function lineOf({ smooth }: Curve, isLog: boolean): Ends | null {
  let [low, high] = [Infinity, -Infinity];
  for (const mean of smooth) {
    const value = scaled(finite(mean), isLog);
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? null : [low, high];
}

function pointsOf(curve: Curve, withBand: boolean, bounds: Bounds, isLog: boolean): Point[] {
  const [highs, lows] = withBand ? bandOf(curve, bounds) : [[], []];
  return curve.mean.flatMap((mean, at) => {
    const value = scaled(finite(mean), isLog);
    const x = (curve.x ?? curve.steps)[at];
    if (value === null || x === undefined) return [];
    const [low, high] = [lows[at], highs[at]].map((edge) => scaled(edge ?? null, isLog) ?? value);
    return [{ x, value, row: [Math.min(value, low ?? value), Math.max(value, high ?? value)] }];
  });
}

/**
 * The range of a curve without the far points, and far ends of bands, that it may leave out; `bands` is null without
 * bands.
 */
function restOf(values: readonly number[], bands: readonly Ends[] | null): Ends | null {
  const sorted = Float64Array.from(values).toSorted();
  const [quarter = 0, median = 0, third = 0] = [1, 2, 3].map((part) => sorted[Math.floor((sorted.length * part) / 4)]);
  const [least, most, last] = [sorted[0], sorted.at(-1), values.at(-1)];
  if (least === undefined || most === undefined || last === undefined) return null;
  if (quarter === third) return bands === null ? [least, most] : union(bands);
  const end = Math.max(1, Math.floor(sorted.length * SURE));
  const middle = [sorted[end] ?? last, sorted[sorted.length - 1 - end] ?? last];
  const [low, high] = [Math.min(...middle), Math.max(...middle)];
  const start = values.findIndex((value) => value >= low && value <= high); // at most `end` points are on either side
  const sure = [...middle, last, ...values.slice(0, start)];
  const kept = [Math.min(...sure), Math.max(...sure)] as const;
  if (bands === null && height(kept) > FLAT * (most - least)) return [least, most]; // most curves
  const rows = values.map((value): Ends => [value, value]);
  return nearer(bands ?? rows, nearer(rows, kept, median, MOST_LEFT_OUT), median, MOST_BANDS);
}

/** The range without the farthest rows, as few as possible, if the other rows are flat with them. */
function nearer(rows: readonly Ends[], kept: Ends, median: number, share: number): Ends {
  const whole = union([kept, ...rows]) ?? kept;
  if (height(kept) > FLAT * height(whole)) return whole; // needs no sorting
  const most = Math.max(rows.length < LEAST_POINTS ? 0 : 1, Math.floor(rows.length * share));
  const far = ([low, high]: Ends): number => Math.max(high - median, median - low);
  const order = rows.toSorted((a, b) => far(b) - far(a));
  let range = union([kept, ...order.slice(most)]) ?? whole;
  if (height(range) > FLAT * height(whole)) return whole;
  const near = Math.min(NEAR * height(range), FLAT * height(whole));
  for (const row of order.slice(1, most).toReversed()) {
    const wider = union([range, row]) ?? range;
    if (height(wider) > near) break;
    range = wider;
  }
  return range;
}

/** The points beyond one end of an axis. */
export interface Beyond {
  isAbove: boolean;
  points: number;
  /** The number of points with only their band beyond it. */
  bands: number;
  /** The farthest value, or end of a band. */
  to: number;
  /** Their x, their curve, and whether only the band is beyond. */
  places: { x: number; curve: number; isBand: boolean }[];
}

/** The points beyond each end of an axis, above and below. */
export function beyondOf(
  curve: Curve,
  others: readonly (Curve | null)[],
  bounds: Bounds,
  [bottom, top]: Ends,
): Beyond[] {
  const all = [curve, ...others].flatMap((one, i) => {
    if (one === null) return [];
    const hasBand = i === 0 || one.hasBand === true;
    return pointsOf(one, hasBand, bounds, false).map(({ x, value, row }) => ({ x, value, row, curve: i }));
  });
  return [true, false].flatMap((isAbove) => {
    const end = isAbove ? 1 : 0;
    const isOut = (value: number): boolean => (isAbove ? value > top : value < bottom);
    const out = all.filter(({ row }) => isOut(row[end]));
    const points = out.filter(({ value }) => isOut(value)).length;
    const [low, high] = union(out.map(({ row }) => row)) ?? [0, 0];
    const bands = out.length - points;
    const places = out.map(({ x, curve: of, value }) => ({ x, curve: of, isBand: !isOut(value) }));
    return out.length === 0 ? [] : [{ isAbove, points, bands, to: isAbove ? high : low, places }];
  });
}

/** The same in words. */
export function wordsOf({ isAbove, points, bands, to }: Beyond, isShare = false): string {
  const what = [...(points > 0 ? [count(points, "point")] : []), ...(bands > 0 ? [count(bands, "band")] : [])];
  const where = `${isAbove ? "above" : "below"}${points + bands === 1 ? ":" : ", to"}`;
  return `${what.join(", ")} ${where} ${wordsOfValues(isShare)(to)}`;
}

function scaled(value: number | null, isLog: boolean): number | null {
  if (!isLog || value === null) return value;
  return value > 0 ? Math.log10(value) : null;
}

const height = ([low, high]: Ends): number => high - low;

function union(ranges: readonly (Ends | null)[]): Ends | null {
  let [low, high] = [Infinity, -Infinity];
  for (const range of ranges) {
    if (range === null) continue;
    low = Math.min(low, range[0]);
    high = Math.max(high, range[1]);
  }
  return low > high ? null : [low, high];
}
