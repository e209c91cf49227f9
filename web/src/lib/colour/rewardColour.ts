/** Where a reward stands in its range, and which of the five colours that is. */

import { placeBetween } from "../numbers/numbers";

export interface Range {
  low: number;
  high: number;
}

/** The range of colours for rewards seen so far: the usual ones where they hold all, else what was observed. */
export function rangeOf(low: number, high: number): Range {
  if (low >= 0 && high <= 1) return { low: 0, high: 1 };
  if (low >= -1 && high <= 1) return { low: -1, high: 1 };
  return { low, high };
}

/** Place in a range, from 0 to 1; null where that has no meaning. */
export function share(value: number | null, range: Range): number | null {
  if (value === null || Number.isNaN(value)) return null;
  if (range.high <= range.low) return value >= range.high ? 1 : 0;
  return Math.min(1, Math.max(0, placeBetween(value, range.low, range.high)));
}

/** Place of a value between the worst and the best one, whichever is the greater. */
export function shareOf(value: number | null, worst: number, best: number): number | null {
  if (worst <= best) return share(value, { low: worst, high: best });
  const place = share(value, { low: best, high: worst });
  return place === null ? null : 1 - place;
}

/** The stop of the scale that is nearest: 0 (low) to 4 (high). */
export function stop(place: number): number {
  return Math.round(place * 4);
}

/** The colour at a place of the scale, between its stops. */
export function colour(place: number): string {
  const below = Math.min(3, Math.floor(place * 4));
  const part = Math.round((place * 4 - below) * 100);
  return `color-mix(in oklch, var(--reward-${below + 1}) ${part}%, var(--reward-${below}))`;
}
