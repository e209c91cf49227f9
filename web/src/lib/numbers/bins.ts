/** Counts by step as bars: one for each step, or one for several steps if there are many. */

export interface Bin {
  from: number;
  /** Its last step. */
  to: number;
  count: number;
}

/** Bars of equal width from the first step to the last, at most `most`. */
export function binned(counts: ReadonlyMap<number, number>, first: number, last: number, most: number): Bin[] {
  const steps = [...counts.keys()];
  const low = steps.reduce((a, b) => Math.min(a, b), first);
  const high = steps.reduce((a, b) => Math.max(a, b), last);
  const width = Math.max(1, Math.ceil((high - low + 1) / most));
  const bins = Array.from({ length: Math.ceil((high - low + 1) / width) }, (_, i) => ({
    from: low + i * width,
    to: Math.min(high, low + (i + 1) * width - 1),
    count: 0,
  }));
  for (const [step, count] of counts) {
    const bin = bins[Math.min(bins.length - 1, Math.floor((step - low) / width))];
    if (bin !== undefined) bin.count += count;
  }
  return bins;
}
