/** The tokens with the largest values of a series, and how its values are distributed. */

import { placeOf, type TokenScale } from "./scale";

/** How far a value is from the usual: in the direction in which tints grow. */
export function distance(scale: TokenScale, value: number): number {
  if (scale.middle === 0) return Math.abs(value);
  if (scale.middle !== null) return Math.abs(Math.log(value));
  return scale.high <= 0 ? -value : value;
}

/** The trained tokens with the largest values, the largest first; of equal ones the first. NaN is never among them. */
export function worst(
  values: Float64Array,
  scale: TokenScale,
  trained: Uint8Array,
  most: number,
  range = { from: 0, stop: trained.length },
): number[] {
  const found: { token: number; far: number }[] = [];
  for (let token = range.from; token < range.stop; token += 1) {
    if (trained[token] !== 1) continue;
    const far = distance(scale, values[token] ?? NaN);
    const last = found.length < most ? -Infinity : (found.at(-1)?.far ?? -Infinity);
    if (Number.isNaN(far) || far < last || (far === last && found.length >= most)) continue;
    const place = found.findIndex((one) => one.far < far);
    found.splice(place < 0 ? found.length : place, 0, { token, far });
    if (found.length > most) found.pop();
  }
  return found.map(({ token }) => token);
}

export interface Bar {
  /** The place of its middle on the scale. */
  place: number;
  /** The share of the highest bar. */
  height: number;
}

/** Bars of equal width over a scale; values beyond its ends are in the outermost ones. */
export function distribution(ordered: Float64Array, scale: TokenScale, bars: number): Bar[] {
  const counts = new Float64Array(bars);
  for (const value of ordered) {
    const place = placeOf(scale, value);
    if (Number.isNaN(place)) continue;
    const bar = Math.min(bars - 1, Math.floor(place * bars));
    counts[bar] = (counts[bar] ?? 0) + 1;
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return Array.from(counts, (many, bar) => ({ place: (bar + 0.5) / bars, height: most === 0 ? 0 : many / most }));
}
