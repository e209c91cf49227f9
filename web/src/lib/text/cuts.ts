/** Divides a text at the edges of marked places. */

import { visible } from "./invisible";

export interface Place {
  start: number;
  stop: number;
}

export interface Cut {
  text: string;
  isMarked: boolean;
}

/** The stretches of a text that starts at `from`; places are in ascending order. */
export function cuts(text: string, places: readonly Place[], from = 0): Cut[] {
  const result: Cut[] = [];
  let done = 0;
  const add = (stop: number, isMarked: boolean): void => {
    if (stop > done) result.push({ text: text.slice(done, stop), isMarked });
    done = Math.max(done, stop);
  };
  for (const { start, stop } of places) {
    if (stop <= from) continue;
    if (start >= from + text.length) break;
    add(start - from, false);
    add(Math.min(text.length, stop - from), true);
  }
  add(text.length, false);
  return result;
}

/** The places of a text after its hidden characters are made visible. */
export function visiblePlaces(text: string, places: readonly Place[]): Place[] {
  const result: Place[] = [];
  let done = 0;
  for (const { text: stretch, isMarked } of cuts(text, places)) {
    const stop = done + visible(stretch).length;
    if (isMarked) result.push({ start: done, stop });
    done = stop;
  }
  return result;
}
