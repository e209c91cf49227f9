/** Distributions of a sample metric: ranges of values as filters and in words, heights of bars, the normal curve. */

import type { WireNumber } from "../../api/types.gen";
import { quoted } from "../list/filter";
import { finite, score } from "../numbers/numbers";

/** The values from `low` up to, not including, `high`. */
export interface Values {
  readonly low: number;
  readonly high: number;
}

/** The ranges between neighbouring edges. */
export const rangesOf = (edges: readonly number[]): Values[] =>
  edges.slice(1).map((high, at) => ({ low: edges[at] ?? high, high }));

/** The filter that finds the samples of a range. */
export const filterOf = (name: string, { low, high }: Values): string =>
  `${quoted(name)} >= ${low} and ${quoted(name)} < ${high}`;

/** A range in words. */
export const wordsOf = ({ low, high }: Values): string => `${score(low, "")} to ${score(high, "")}`;

/** The edges as they are drawn. Whole numbers, and the only value, are in the middle of their bars. */
export function drawnEdges(
  edges: readonly number[],
  given: readonly (number | null)[],
): { ends: readonly number[]; areInMiddle: boolean } {
  const [low = 0, next = low] = edges;
  const values = given.filter((value) => value !== null);
  const [first = low] = values;
  if (edges.length === 2 && values.every((value) => value === first))
    return { ends: [first - (next - low) / 2, first + (next - low) / 2], areInMiddle: true };
  const areInMiddle = next - low === 1 && values.every(Number.isInteger);
  return { ends: areInMiddle ? edges.map((edge) => edge - 0.5) : edges, areInMiddle };
}

const CURVE_POINTS = 64;

/** The number of samples that a normal distribution has in bins of this width, at places from `low` to `high`. */
export function normalCurve(
  { mean, std, count }: { mean: number; std: number; count: number },
  { low, high }: Values,
  width: number,
): [x: number, y: number][] {
  if (!(std > 0) || !(high > low)) return [];
  return Array.from({ length: CURVE_POINTS + 1 }, (_, at): [number, number] => {
    const x = low + ((high - low) * at) / CURVE_POINTS;
    const density = Math.exp(-0.5 * ((x - mean) / std) ** 2) / (std * Math.sqrt(2 * Math.PI));
    return [x, count * width * density];
  });
}

/** The least and the greatest value, extended to 0, where bars begin. */
export function reachOf(values: readonly (number | null)[]): Values {
  let [low, high] = [0, 0];
  for (const value of values) {
    if (value !== null && value < low) low = value;
    if (value !== null && value > high) high = value;
  }
  return { low, high: high > low ? high : low + 1 };
}

/** Where the bar of a value begins and how high it is, as shares of the height, from the foot. */
export function barOf(value: number, { low, high }: Values): { foot: number; height: number } {
  const place = (one: number): number => (one - low) / (high - low);
  return { foot: place(Math.min(0, value)), height: Math.abs(place(value) - place(0)) };
}

/** A metric with its unit and the ends of its values. */
interface Extent {
  name: string;
  unit: string;
  min: WireNumber;
  max: WireNumber;
}

/** Beside values this many times as large, a metric would look like a line. */
const MOST_TIMES = 10;

/**
 * True for two metrics that share an axis: one is the other's reference, or both have the same unit, and overlapping
 * values of similar size.
 */
export function areAlike(one: Extent, other: Extent): boolean {
  if (one.name === `ref_${other.name}` || other.name === `ref_${one.name}`) return true;
  const [low, high, least, most] = [finite(one.min), finite(one.max), finite(other.min), finite(other.max)];
  if (one.unit !== other.unit || low === null || high === null || least === null || most === null) return false;
  const sizes = [Math.max(Math.abs(low), Math.abs(high)), Math.max(Math.abs(least), Math.abs(most))];
  return low <= most && least <= high && Math.max(...sizes) <= MOST_TIMES * Math.min(...sizes);
}

const BINS_ASIDE = 4;

/** The edges of bins, with empty bins on both sides of a single one: equal values are then a line, not a block. */
export function paddedEdges(edges: readonly number[]): { edges: number[]; before: number; after: number } {
  const bins = edges.length - 1;
  const [low = 0, next = 0, high = next] = [edges[0], edges[1], edges.at(-1)];
  if (bins !== 1) return { edges: [...edges], before: 0, after: 0 };
  const by = next - low;
  const before = Array.from({ length: BINS_ASIDE }, (_, i) => Number((low - (BINS_ASIDE - i) * by).toPrecision(12)));
  const after = Array.from({ length: BINS_ASIDE }, (_, i) => Number((high + (i + 1) * by).toPrecision(12)));
  return { edges: [...before, ...edges, ...after], before: BINS_ASIDE, after: BINS_ASIDE };
}

/** Counts for the padded edges. */
export const paddedCounts = (counts: readonly number[], before: number, after: number): number[] => [
  ...Array.from({ length: before }, () => 0),
  ...counts,
  ...Array.from({ length: after }, () => 0),
];
