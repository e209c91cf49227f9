/** The tokens with the worst values of a series, and how its values are distributed. */

import type { TokenArray, RunWorstTokens } from "../../api/types.gen";
import { toNumber } from "../numbers/numbers";
import { isLowWorst, isRatio, placeOf, type TokenScale } from "./scale";

/** The side of a series with the worst values. */
export type WorstSide = "low" | "high" | "both";

/** The worst probabilities are low; the worst ratios, and values of series around zero, are far from the middle. */
export function sideOf({ name, scale }: Pick<TokenArray, "name" | "scale">): WorstSide {
  if (scale === "symmetric" || isRatio(name)) return "both";
  return isLowWorst(name) ? "low" : "high";
}

/** The badness of a value. */
function distance(name: string, side: WorstSide, value: number): number {
  if (side === "both") return Math.abs(isRatio(name) ? Math.log(value) : value);
  return side === "low" ? -value : value;
}

/** The trained tokens with the worst values, the worst first, ties by position. NaN is never among them. */
export function worst(
  series: Pick<TokenArray, "name" | "scale"> & { values: Float64Array },
  trained: Uint8Array,
  most: number,
  range = { from: 0, stop: trained.length },
): number[] {
  const [{ name, values }, side] = [series, sideOf(series)];
  const found: { token: number; far: number }[] = [];
  for (let token = range.from; token < range.stop; token += 1) {
    if (trained[token] !== 1) continue;
    const far = distance(name, side, values[token] ?? NaN);
    const last = found.length < most ? -Infinity : (found.at(-1)?.far ?? -Infinity);
    if (Number.isNaN(far) || far < last || (far === last && found.length >= most)) continue;
    const place = found.findIndex((one) => one.far < far);
    found.splice(place < 0 ? found.length : place, 0, { token, far });
    if (found.length > most) found.pop();
  }
  return found.map(({ token }) => token);
}

/** The worst tokens of both sides as one answer, as long as the longer of the two. */
export function worstOfBoth(high: RunWorstTokens, low: RunWorstTokens): RunWorstTokens {
  const far = ({ value }: RunWorstTokens["tokens"][number]): number =>
    distance(high.series, "both", toNumber(value) ?? NaN);
  const all = new Map([...high.tokens, ...low.tokens].map((one) => [`${one.id} ${one.token}`, one]));
  const tokens = [...all.values()].toSorted((one, other) => far(other) - far(one));
  return { ...high, tokens: tokens.slice(0, Math.max(high.tokens.length, low.tokens.length)) };
}

export interface Bar {
  /** The place of its middle on the scale. */
  place: number;
  /** Its height relative to the highest bar. */
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
