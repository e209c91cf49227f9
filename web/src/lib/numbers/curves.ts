/** Curves: smoothing, and drawing long curves with few pixels. */

import { placeBetween } from "./numbers";

/**
 * Exponential moving average over a span of steps, with bias correction (Kingma & Ba 2015, section 3). The weight of a
 * value falls with its distance in steps, so values far apart are hardly averaged. Gaps stay gaps.
 */
export const smoothed = (
  steps: readonly number[],
  values: readonly (number | null)[],
  spanSteps: number,
): (number | null)[] =>
  Array.from(
    averages(
      steps,
      Float64Array.from(values, (value) => value ?? NaN),
      spanSteps,
    ),
    (mean) => (Number.isNaN(mean) ? null : mean),
  );

/** The same for a typed array; NaN at values that are not finite. */
export function averages(steps: readonly number[], values: Float64Array, spanSteps: number): Float64Array {
  const keep = 1 - 2 / (spanSteps + 1);
  let mean = 0;
  let weight = 0;
  let last = 0;
  let [apart, fall] = [1, keep];
  const means = new Float64Array(values.length);
  for (let i = 0; i < values.length; i += 1) {
    const [step, value] = [steps[i] ?? 0, values[i] ?? NaN];
    means[i] = NaN;
    if (!Number.isFinite(value)) continue;
    if (step - last !== apart) {
      apart = step - last;
      fall = keep ** apart;
    }
    const before = weight === 0 ? 0 : fall * weight;
    weight = before + 1;
    mean = mean * (before / weight) + value / weight; // a convex combination: the sum of large values could be infinite
    last = step;
    means[i] = mean;
  }
  return means;
}

/** The index of the first of ascending numbers that is at least a number; their count without one. */
export function placeOf(ascending: ArrayLike<number>, least: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The indices of values without neighbours. Undefined values belong to steps of other runs, and break no line. */
export function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const places: number[] = [];
  let before = -1; // the index of the previous value on the same line
  let isAlone = false;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at];
    if (value === undefined) continue;
    const isValue = value !== null;
    if (isAlone && !isValue) places.push(before);
    isAlone = isValue && before < 0;
    before = isValue ? at : -1;
  }
  if (isAlone) places.push(before);
  return places;
}

/** The allowed distances between ticks on an axis of steps. Steps may be times in nanoseconds. */
export const WHOLE_STEPS: readonly number[] = Array.from({ length: 16 }, (_, digits) =>
  [1, 2, 5].map((first) => first * 10 ** digits),
).flat();

/** Larger numbers have no labels on an axis, and their distance may overflow. */
const GREAT = 1e100;
/** The number of digits that numbers are reduced to. */
const DRAWN_DIGITS = 8;

/** The number of digits to drop from values before drawing: 0 if they are drawn unchanged. */
export function shrinking(columns: readonly (readonly (number | null | undefined)[])[]): number {
  let most = 0;
  for (const column of columns)
    for (const value of column) if (typeof value === "number") most = Math.max(most, Math.abs(value));
  return most > GREAT ? Math.floor(Math.log10(Math.min(most, Number.MAX_VALUE))) - DRAWN_DIGITS : 0;
}

/** Columns with that many digits dropped. */
export function shrunk<T extends readonly (number | null | undefined)[]>(
  columns: readonly T[],
  digits: number,
): (number | null | undefined)[][] {
  const by = 10 ** digits;
  return columns.map((column) =>
    column.map((value) =>
      typeof value === "number" ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)) / by : value,
    ),
  );
}

/** The lowest and the highest number; null without any. */
export function extent(values: readonly (number | null)[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? null : [low, high];
}

/**
 * A curve as the `d` of an SVG path, with at most two points for each pixel, its lowest and highest value. `up` has the
 * values at the bottom and at the top.
 */
export function path(
  xs: readonly number[],
  ys: readonly (number | null)[],
  width: number,
  height: number,
  up = extent(ys),
): string {
  const across = extent(xs);
  if (across === null || up === null) return "";
  const toX = (x: number): number =>
    across[1] === across[0] ? width / 2 : placeBetween(x, across[0], across[1]) * width;
  const toY = (y: number): number => (up[1] === up[0] ? height / 2 : height - placeBetween(y, up[0], up[1]) * height);
  const points = thinned(xs.map(toX), ys);
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${toY(y).toFixed(1)}`).join("");
}

function thinned(xs: readonly number[], ys: readonly (number | null)[]): [number, number][] {
  const points: [number, number][] = [];
  let pixel = -1;
  let low: [number, number] | null = null;
  let high: [number, number] | null = null;
  const flush = (): void => {
    if (low === null || high === null) return;
    if (low === high) points.push(low);
    else points.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  };
  ys.forEach((y, i) => {
    const x = xs[i];
    if (y === null || x === undefined) return;
    if (Math.floor(x) !== pixel) {
      flush();
      pixel = Math.floor(x);
      low = high = [x, y];
      return;
    }
    if (low === null || y < low[1]) low = [x, y];
    if (high === null || y > high[1]) high = [x, y];
  });
  flush();
  return points;
}
