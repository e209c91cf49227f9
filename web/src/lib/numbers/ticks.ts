/** Round numbers for an axis: a range that begins and ends at round numbers, and those in between. */

import { WHOLE_STEPS } from "./curves";
import { placeBetween } from "./numbers";

/** More intervals would crowd a small chart. */
const MOST_INTERVALS = 4;
const STEPS = [1, 2, 2.5, 5, 10, 20];
/** The rounding error of a division. */
const EPSILON = 1e-9;

/**
 * The ticks of a range, the first at or below `low`, the last at or above `high`; just these two if no number in
 * between is rounder.
 */
export function roundTicks(low: number, high: number): number[] {
  const power = 10 ** Math.floor(Math.log10((high - low) / MOST_INTERVALS));
  for (const one of STEPS) {
    const step = one * power;
    const from = Math.floor(low / step + EPSILON);
    const to = Math.ceil(high / step - EPSILON);
    if (to - from > MOST_INTERVALS || !(to > from)) continue;
    const ticks = Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(15)));
    // Far from zero, neighbouring numbers may have no round one between them.
    const slack = EPSILON * step;
    if (
      ticks.every((tick, i) => i === 0 || tick > (ticks[i - 1] ?? tick)) &&
      (ticks[0] ?? high) <= low + slack &&
      (ticks.at(-1) ?? low) >= high - slack
    )
      return ticks;
  }
  return [low, high];
}

interface Steps {
  first: number;
  last: number;
  /** Their distance on the screen. */
  px: number;
  widthOf: (step: number) => number;
}

/** Labels closer than this would overlap. */
const GAP_PX = 10;
/** More labels would crowd an axis, however short they are. */
const LEAST_PX = 50;

/** The labelled steps of an axis: the first, the last, and the round ones in between that fit. */
export function stepTicks({ first, last, px, widthOf }: Steps): number[] {
  if (!(last > first)) return [first];
  const apart = (a: number, b: number): boolean =>
    placeBetween(b, first, last) * px - placeBetween(a, first, last) * px >= (widthOf(a) + widthOf(b)) / 2 + GAP_PX;
  if (!apart(first, last)) return [last];
  const widest = Math.max(LEAST_PX, widthOf(first) + GAP_PX, widthOf(last) + GAP_PX);
  const between = WHOLE_STEPS.find((one) => (one / (last - first)) * px >= widest) ?? Infinity;
  const round: number[] = [];
  for (let at = Math.ceil(first / between) * between; at < last; at += between)
    if (apart(first, at) && apart(at, last)) round.push(at);
  return [first, ...round, last];
}

/** The ticks of a logarithmic range: powers of ten, or a few round numbers if the range has fewer than two powers. */
export function logTicks(low: number, high: number): number[] {
  const from = Math.ceil(Math.log10(low) - EPSILON);
  const to = Math.floor(Math.log10(high) + EPSILON);
  const by = Math.max(1, Math.ceil((to - from) / MOST_INTERVALS));
  const powers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => Number(`1e${from + i}`));
  if (powers.length > 1) return powers.filter((_, i) => i % by === 0);
  return roundTicks(low, high).filter((tick) => tick > 0 && tick >= low && tick <= high);
}
