/**
 * Reduces a long curve to fewer points, without losing spikes and gaps, like the server in
 * `query/curves/decimation.py`. Each bucket keeps its least and its greatest value, the lowest and the highest end of a
 * band, and the first gap (NaN).
 */

type Numbers = Float64Array;

const LEAST_POINTS = 5;
/** Fewer points leave no room for the ends of a band. */
const LEAST_OF_BAND = 7;

/** Ascending places, at most `most` of them. */
export function placesOf(values: Numbers, most: number, band: readonly [low: Numbers, high: Numbers] | null): number[] {
  const count = values.length;
  const chosen = new Uint8Array(count);
  if (count <= most) return placesIn(chosen.fill(1));
  const ends = most < LEAST_OF_BAND ? null : band;
  const hasGap = firstGap(values, 0, count) >= 0;
  const each = (ends === null ? 2 : 4) + Number(hasGap);
  const size = Math.ceil(count / Math.max(1, Math.floor((Math.max(most, LEAST_POINTS) - 2) / each)));
  for (let start = 0; start < count; start += size) {
    const stop = Math.min(count, start + size);
    choose(chosen, values, start, stop, true, true);
    if (ends !== null) {
      choose(chosen, ends[0], start, stop, true, false);
      choose(chosen, ends[1], start, stop, false, true);
    }
    const gap = hasGap ? firstGap(values, start, stop) : -1;
    if (gap >= 0) chosen[gap] = 1;
  }
  chosen[0] = chosen[count - 1] = 1;
  return placesIn(chosen);
}

function placesIn(chosen: Uint8Array): number[] {
  const places: number[] = [];
  for (let at = 0; at < chosen.length; at += 1) if (chosen[at] === 1) places.push(at);
  return places;
}

/** Choose the indices of the least number of a bucket, of the greatest, or of both; NaN is neither. */
function choose(
  chosen: Uint8Array,
  array: Numbers,
  start: number,
  stop: number,
  isLeast: boolean,
  isGreatest: boolean,
): void {
  let [low, least] = [start, Infinity];
  let [high, greatest] = [start, -Infinity];
  for (let at = start; at < stop; at += 1) {
    const value = array[at] ?? NaN;
    if (value < least) [low, least] = [at, value];
    if (value > greatest) [high, greatest] = [at, value];
  }
  if (isLeast) chosen[low] = 1;
  if (isGreatest) chosen[high] = 1;
}

/** The index of the first NaN; -1 without any. */
function firstGap(array: Numbers, start: number, stop: number): number {
  for (let at = start; at < stop; at += 1) if (Number.isNaN(array[at])) return at;
  return -1;
}
