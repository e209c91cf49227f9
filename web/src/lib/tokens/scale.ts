/** Turns the value of a token into the strength of its tint. */

import { placeBetween } from "../numbers/numbers";

export type ScaleKind = "linear" | "symmetric" | "log";
/**
 * The range of a scale: what stands out, all values, all but the outermost hundredths, or ends that the reader chose.
 * The worst quarter of the values stands out, so usual values have no tint.
 */
export type EndsKind = "out" | "all" | "clip" | "fixed";

export interface ScaleChoice {
  kind: ScaleKind;
  ends: EndsKind;
  /** The ends if they are fixed. */
  low: number;
  high: number;
}

/** The scale of a series unless the reader chooses. */
export const usualScale = (kind: ScaleKind): ScaleChoice => ({ kind, ends: "out", low: NaN, high: NaN });

export interface TokenScale {
  kind: ScaleKind;
  low: number;
  high: number;
  /** The middle of a scale with two sides, without a tint: 0, or 1 for ratios on a log scale. */
  middle: number | null;
  /** The share of either side, around the middle, without a tint. */
  quiet: number;
  /** The tint grows towards the low end. */
  isDown: boolean;
}

/** True for the name of a ratio, which is 1 if nothing has changed. */
export const isRatio = (name: string): boolean => /(^|_)ratio$/.test(name) && !name.startsWith("log");

/** True for the name of a series whose low values are the worst. */
export const isLowWorst = (name: string): boolean => /(^|_)(logprobs|probability)$/.test(name);

/** The number of steps of a tint. */
export const LEVELS = 32;
/** A value without a tint, because it is NaN. */
export const NO_LEVEL = -LEVELS - 1;
const CLIPPED = 0.01;
/** The share of the values that stand out. */
const OUT = 0.25;
/** On a log scale, values that stand out are at most this many times smaller than the end. */
const REACH = 1000;
/** Values that differ by less than float32 can tell are equal. */
export const SAME = 1e-6;

/** The most values for estimating percentiles: sorting more would take long. */
const ORDERED = 8_192;

/** The finite values that pass, sorted. Of very many it takes every n-th, and always the least and the greatest. */
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

/** True if all values are equal, as the advantages of a sample usually are. */
function isConstant(ordered: Float64Array): boolean {
  const [low, high] = [ordered[0] ?? NaN, ordered.at(-1) ?? NaN];
  return high - low <= SAME * Math.max(Math.abs(low), Math.abs(high));
}

/**
 * The scale of the sorted finite values of a series. Without values, or if all are equal, it has no width, unless the
 * reader fixed its ends.
 */
export function scaleOf(ordered: Float64Array, choice: ScaleChoice, name: string): TokenScale {
  const { kind } = choice;
  const some = kind === "log" ? ordered.subarray(firstAbove(ordered, 0)) : ordered;
  const isFixed = choice.ends === "fixed" && choice.low < choice.high;
  if (!isFixed && isConstant(some))
    return { kind, low: some[0] ?? NaN, high: some[0] ?? NaN, middle: null, quiet: 0, isDown: false };
  const isAroundOne = kind === "log" && isRatio(name);
  const isDown = isLowWorst(name) || (ordered.at(-1) ?? 0) <= 0;
  const isOneSided = kind !== "symmetric" && !isAroundOne;
  const [low, high] = isFixed
    ? [kind === "log" && choice.low <= 0 ? quantile(some, 0) : choice.low, choice.high]
    : choice.ends === "out" && isOneSided
      ? outstanding(ordered, some, kind, isDown)
      : between(some, choice.ends === "out" || choice.ends === "clip" ? CLIPPED : 0);
  const quiet = choice.ends === "out" ? quietOf(some, isAroundOne) : 0;
  if (kind === "symmetric") return { ...twoSided(Math.max(Math.abs(low), Math.abs(high)), quiet), kind, middle: 0 };
  if (isAroundOne && low > 0) {
    const side = twoSided(Math.max(Math.abs(Math.log(low)), Math.abs(Math.log(high))), quiet);
    return { ...side, kind, low: Math.exp(side.low), high: Math.exp(side.high), middle: 1 };
  }
  return { kind, low, high, middle: null, quiet: 0, isDown };
}

/** The range of values without a share of them on either side; if that has no width, the range of all. */
function between(ordered: Float64Array, share: number): [number, number] {
  const [low, high] = [quantile(ordered, share), quantile(ordered, 1 - share)];
  return low < high ? [low, high] : [ordered[0] ?? NaN, ordered.at(-1) ?? NaN];
}

/** The range of the worst quarter, of the values `some` that the scale can show. */
function outstanding(ordered: Float64Array, some: Float64Array, kind: ScaleKind, isDown: boolean): [number, number] {
  const [least, greatest] = [some[0] ?? NaN, some.at(-1) ?? NaN];
  if (isDown) {
    const [low] = between(some, CLIPPED);
    const high = quantile(ordered, OUT);
    return high > low ? [low, high] : [least, greatest];
  }
  const [, high] = between(some, CLIPPED);
  const low = Math.max(quantile(ordered, 1 - OUT), least, kind === "log" ? high / REACH : -Infinity);
  return low < high ? [low, high] : [least, greatest];
}

/** The distance from the middle within which three quarters of the values lie. */
function quietOf(ordered: Float64Array, isAroundOne: boolean): number {
  const far = ordered.map((value) => Math.abs(isAroundOne ? Math.log(value) : value)).toSorted();
  return quantile(far, 1 - OUT);
}

/** If nearly all values have the same distance, only the side differs, so they keep their tints. */
const SIDES = 0.9;

function twoSided(end: number, quiet: number): Pick<TokenScale, "low" | "high" | "quiet" | "isDown"> {
  return { low: -end, high: end, quiet: quiet < SIDES * end ? quiet / end : 0, isDown: false };
}

/** The scale extended to the worst of the sorted values, so that it clips none. */
export function reaching(scale: TokenScale, ordered: Float64Array): TokenScale {
  const { low, high, middle, quiet, isDown } = scale;
  if (!(low < high)) return scale;
  const [least, greatest] = [ordered[0] ?? low, ordered.at(-1) ?? high];
  if (middle === null)
    return isDown ? { ...scale, low: Math.min(low, least) } : { ...scale, high: Math.max(high, greatest) };
  const far = (value: number): number => Math.abs(middle === 1 ? Math.log(value) : value);
  const end = Math.max(far(high), far(least), far(greatest));
  if (!Number.isFinite(end)) return scale;
  const side = twoSided(end, quiet * far(high));
  return middle === 1 ? { ...scale, ...side, low: Math.exp(-end), high: Math.exp(end) } : { ...scale, ...side };
}

/** The scale of an update: around zero, and every push has a tint. */
export function updateScale(ordered: Float64Array): TokenScale {
  const [low, high] = between(ordered, CLIPPED);
  return { ...twoSided(Math.max(Math.abs(low), Math.abs(high)), 0), kind: "symmetric", middle: 0 };
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

/** The strength of the tint, from 0 to 1, or from -1 on a scale with two sides; NaN for a value without one. */
export function strengthOf(scale: TokenScale, value: number): number {
  const place = placeOf(scale, value);
  if (Number.isNaN(place)) return NaN;
  if (scale.low === scale.high) return 0;
  if (scale.middle === null) return scale.isDown ? 1 - place : place;
  const strength = 2 * place - 1;
  return (Math.sign(strength) * Math.max(0, Math.abs(strength) - scale.quiet)) / (1 - scale.quiet);
}

/** The strength as a level, up to `LEVELS`. */
export function levelOf(scale: TokenScale, value: number): number {
  const strength = strengthOf(scale, value);
  return Number.isNaN(strength) ? NO_LEVEL : Math.round(strength * LEVELS);
}

/** The least opacity: slight tints stay visible. */
const FAINTEST = 0.12;

/** The opacity of a level, from 0 to 1: the same in text, strip and heat map. */
export const alphaOf = (level: number): number => FAINTEST + ((1 - FAINTEST) * Math.abs(level)) / LEVELS;

/** The name of the colour of a level. */
export const hueOf = (level: number, isTwoSided: boolean): "--heat" | "--div-neg" | "--div-pos" =>
  !isTwoSided ? "--heat" : level < 0 ? "--div-neg" : "--div-pos";

/** The background of a level; empty for none. */
export function tintOf(level: number, isTwoSided: boolean): string {
  if (level === 0 || level === NO_LEVEL) return "";
  return `color-mix(in oklab, var(${hueOf(level, isTwoSided)}) ${Math.round(100 * alphaOf(level))}%, transparent)`;
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
  const stops = Array.from({ length: 17 }, (_, i) => tint(scale, valueAt(scale, i / 16)) || "transparent");
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
