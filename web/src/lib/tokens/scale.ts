/** From the value of a token to the strength of its tint. */

import { placeBetween } from "../numbers/numbers";

export type ScaleKind = "linear" | "symmetric" | "log";
/** From where to where: all values, all but the outermost hundredths, or ends that the reader chose. */
export type EndsKind = "all" | "clip" | "fixed";

export interface ScaleChoice {
  kind: ScaleKind;
  ends: EndsKind;
  /** The ends if they are fixed. */
  low: number;
  high: number;
}

/** The scale of a series unless the reader chooses. */
export const usualScale = (kind: ScaleKind): ScaleChoice => ({ kind, ends: "clip", low: NaN, high: NaN });

export interface TokenScale {
  kind: ScaleKind;
  low: number;
  high: number;
  /** A scale with two sides has no tint here: 0, or 1 for ratios on a log scale. */
  middle: number | null;
}

/** True for the name of a series that is 1 where nothing has changed. */
export const isRatio = (name: string): boolean => /(^|_)ratio$/.test(name) && !name.startsWith("log");

/** Tints are drawn in so many steps. */
export const LEVELS = 32;
/** A value without a tint, because it is NaN. */
export const NO_LEVEL = -LEVELS - 1;
const CLIPPED = 0.01;

/** So many values say where the hundredths lie: more would take long to order. */
const ORDERED = 8_192;

/** Finite values in order: all that pass, or of very many every so many, and always the least and the greatest. */
export function sorted(values: Float64Array, passes: (place: number) => boolean): Float64Array {
  const all = new Float64Array(values.length);
  let [count, low, high] = [0, Infinity, -Infinity];
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place] ?? NaN;
    if (!Number.isFinite(value) || !passes(place)) continue;
    all[count] = value;
    count += 1;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (count <= ORDERED) return all.subarray(0, count).toSorted();
  const every = Math.ceil(count / ORDERED);
  const some = Float64Array.from({ length: Math.floor(count / every) }, (_, i) => all[i * every] ?? low);
  return Float64Array.of(low, ...some, high).toSorted();
}

/** The value below which a share of the ordered values lies. */
export function quantile(ordered: Float64Array, share: number): number {
  const place = share * (ordered.length - 1);
  const low = ordered[Math.floor(place)] ?? NaN;
  const high = ordered[Math.ceil(place)] ?? NaN;
  return low === high ? low : low + (high - low) * (place - Math.floor(place));
}

/** The scale of ordered finite values. Without values, or where all are equal, it has no width. */
export function scaleOf(ordered: Float64Array, choice: ScaleChoice, isAroundOne: boolean): TokenScale {
  const some = choice.kind === "log" ? ordered.subarray(firstAbove(ordered, 0)) : ordered;
  const share = choice.ends === "clip" ? CLIPPED : 0;
  const isFixed = choice.ends === "fixed" && choice.low < choice.high;
  const [low, high] = isFixed
    ? [choice.kind === "log" && choice.low <= 0 ? quantile(some, 0) : choice.low, choice.high]
    : [quantile(some, share), quantile(some, 1 - share)];
  if (choice.kind === "symmetric") {
    const end = Math.max(Math.abs(low), Math.abs(high));
    return { kind: "symmetric", low: -end, high: end, middle: 0 };
  }
  if (choice.kind === "log" && isAroundOne && low > 0) {
    const end = Math.exp(Math.max(Math.abs(Math.log(low)), Math.abs(Math.log(high))));
    return { kind: "log", low: 1 / end, high: end, middle: 1 };
  }
  return { kind: choice.kind, low, high, middle: null };
}

function firstAbove(ordered: Float64Array, value: number): number {
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const at = (low + high) >> 1;
    if ((ordered[at] ?? 0) > value) high = at;
    else low = at + 1;
  }
  return low;
}

/** The place on the scale, from 0 to 1; NaN for a value without one. */
export function placeOf({ kind, low, high }: TokenScale, value: number): number {
  if (Number.isNaN(value) || Number.isNaN(low)) return NaN;
  if (value <= low) return low === high && value === low ? 0.5 : 0;
  if (value >= high) return 1;
  return kind === "log" ? placeBetween(Math.log(value), Math.log(low), Math.log(high)) : placeBetween(value, low, high);
}

/** The value at a place of the scale. */
export function valueAt({ kind, low, high }: TokenScale, place: number): number {
  if (kind === "log") return Math.exp(Math.log(low) * (1 - place) + Math.log(high) * place);
  return low * (1 - place) + high * place;
}

/**
 * The strength of the tint, from 0 to 1, or from -1 on a scale with two sides; NaN for a value without one. Where
 * nothing is above zero, as with log-probabilities, the tint grows towards the low end.
 */
export function strengthOf(scale: TokenScale, value: number): number {
  const place = placeOf(scale, value);
  if (Number.isNaN(place)) return NaN;
  if (scale.low === scale.high) return 0;
  if (scale.middle !== null) return 2 * place - 1;
  return scale.high <= 0 ? 1 - place : place;
}

/** The strength in steps, up to `LEVELS`. */
export function levelOf(scale: TokenScale, value: number): number {
  const strength = strengthOf(scale, value);
  return Number.isNaN(strength) ? NO_LEVEL : Math.round(strength * LEVELS);
}

/** The background of a level; empty for none. */
export function tintOf(level: number, isTwoSided: boolean): string {
  if (level === 0 || level === NO_LEVEL) return "";
  const name = isTwoSided ? (level < 0 ? "div-neg" : "div-pos") : "seq-text";
  return `color-mix(in oklab, var(--${name}) ${Math.round((100 * Math.abs(level)) / LEVELS)}%, transparent)`;
}

/** All tints by level, beginning with the lowest. */
export const TINTS: Readonly<Record<"one" | "two", readonly string[]>> = {
  one: Array.from({ length: 2 * LEVELS + 1 }, (_, i) => tintOf(Math.abs(i - LEVELS), false)),
  two: Array.from({ length: 2 * LEVELS + 1 }, (_, i) => tintOf(i - LEVELS, true)),
};

/** The tint of a value; empty for none. */
export function tint(scale: TokenScale, value: number): string {
  const level = levelOf(scale, value);
  return level === NO_LEVEL ? "" : (TINTS[scale.middle === null ? "one" : "two"][level + LEVELS] ?? "");
}

/** The tints of a scale from end to end, as an image. */
export function rampOf(scale: TokenScale): string {
  const stops = Array.from({ length: 9 }, (_, i) => tint(scale, valueAt(scale, i / 8)) || "transparent");
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
