/** The axis of values: its range, and the labelled values of it. */

import { inLittleRoom } from "../../lib/charts/littleRoom";
import { logTicks, roundTicks } from "../../lib/numbers/ticks";
import type { Bounds } from "./curvesOf";

/** Values that differ by less, relative to their size, are drawn as equal. */
const FLAT = 1e-12;

export type Range = readonly [low: number, high: number];
export type Limits = readonly [low: number | null, high: number | null];
export const NO_LIMITS: Limits = [null, null];

/** The range of the drawn values, extended to ticks or to the limits that a person chose. */
export function rangeOf(
  low: number | null,
  high: number | null,
  bounds: Bounds,
  isLog: boolean,
  [from, to]: Limits = NO_LIMITS,
): [number, number] {
  const [bottom, top] = isLog ? powerRange(low, high) : roundRange(low, high, bounds);
  const ends = [from ?? Math.min(bottom, to ?? bottom), to ?? Math.max(top, from ?? top)] as const;
  if (isLog && !(ends[0] > 0)) return [bottom, top];
  if (ends[0] < ends[1]) return [...ends];
  // all values lie beyond the only limit
  return from === null ? [ends[1] - 1, ends[1]] : [ends[0], ends[0] + 1];
}

/** The labelled values of a range. */
export const ticksOf = (low: number, high: number, isLog: boolean): number[] =>
  isLog ? logTicks(low, high) : roundTicks(low, high);

/** A short number on an axis, with the `digits` that the drawn number lacks. */
export function tickOf(tick: number, digits: number, isShare = false): string {
  if (digits > 0 && tick !== 0) {
    const [mantissa, exponent] = tick.toExponential(1).split("e");
    return `${Number(mantissa)}e${Number(exponent) + digits}`.replaceAll("-", "−");
  }
  return isShare ? `${inLittleRoom(100 * tick)}%` : inLittleRoom(tick);
}

/** A range with a width: a single value gets room on both sides. */
export function apart(low: number, high: number): [number, number] {
  const by = Math.max(1, Math.abs(low) / 100); // adding 1 to a large number changes nothing
  return low === high ? [low - by, high + by] : [low, high];
}

/** A range that begins and ends at round numbers; a chart without values has some range, too. */
function roundRange(least: number | null, most: number | null, bounds: Bounds): [number, number] {
  if (least === null || most === null) return [0, 1];
  // A moving average of equal values differs from them by rounding errors.
  const isFlat = most - least <= FLAT * Math.abs(most);
  const by = Math.abs(least);
  const [from, to] = isFlat && by > 0 && by < 1 ? [least - by, least + by] : apart(least, isFlat ? least : most);
  const [low, high] = isFlat ? [Math.max(from, bounds.low), Math.min(to, bounds.high)] : [from, to];
  if (!(low < high)) return [from, to];
  const ticks = roundTicks(low, high);
  return [ticks[0] ?? low, ticks.at(-1) ?? high];
}

/** The same on a logarithmic scale: it ends close to the values, more than a power apart at 1, 2 or 5 times one. */
function powerRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [1, 10];
  const digits = high < 10 * low ? DIGITS : FEW_DIGITS;
  const [from, to] = [roundDown(low, digits), roundUp(high, digits)];
  return from < to ? [from, to] : [roundDown(low / 2, digits), roundUp(high * 2, digits)];
}

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const FEW_DIGITS = [1, 2, 5, 10];
/** The rounding error of a quotient. */
const SLACK = 1e-9;

/** A digit times a power of ten, at most or at least as large as a number; the number itself beyond all of them. */
function roundTo(value: number, digits: readonly number[], isUp: boolean): number {
  const power = Math.floor(Math.log10(value));
  const part = value / Number(`1e${power}`);
  const fits = digits.filter((digit) => (isUp ? digit >= part * (1 - SLACK) : digit <= part * (1 + SLACK)));
  const rounded = Number(`${(isUp ? fits[0] : fits.at(-1)) ?? 1}e${power}`);
  return rounded > 0 && Number.isFinite(rounded) ? rounded : value;
}

const roundDown = (value: number, digits: readonly number[]): number => roundTo(value, digits, false);
const roundUp = (value: number, digits: readonly number[]): number => roundTo(value, digits, true);
