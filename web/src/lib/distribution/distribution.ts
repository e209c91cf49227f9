/** Distributions of a sample metric: ranges of values as filters and in words, heights of bars, the normal curve. */

import { quoted } from "../list/filter";
import { score } from "../numbers/numbers";

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

/** The least and the greatest value, with 0 between them or at an end: bars stand on it. */
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
