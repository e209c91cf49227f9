/** Searches in ascending values. */

/** Index of the last value that is not above `limit`, in ascending values; -1 if all are above. */
export function lastAtMost(values: readonly number[], limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Index of the value nearest to `wanted`, in ascending values; -1 without values. */
export function nearest(values: readonly number[], wanted: number): number {
  const below = lastAtMost(values, wanted);
  const low = values[below];
  const high = values[below + 1];
  if (low === undefined) return high === undefined ? -1 : 0;
  return high !== undefined && high - wanted < wanted - low ? below + 1 : below;
}
