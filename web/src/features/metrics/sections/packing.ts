/** The number of grid columns for each section; the last section of a row takes the rest. */

/** The numbers of columns that the style sheet knows. */
const GRIDS = [2, 3, 4, 5, 6, 8] as const;
/** Charts that are wider still look stretched. */
const MOST_TIMES = 2;

/** The columns of each section in a grid of `columns`; each section goes to the first row with room. */
export function spansIn(columns: number, counts: readonly number[]): number[] {
  const spans = counts.map((count) => Math.min(count, columns));
  const rows: { used: number; last: number }[] = [];
  spans.forEach((span, i) => {
    const row = rows.find(({ used }) => used + span <= columns);
    if (row === undefined) rows.push({ used: span, last: i });
    else [row.used, row.last] = [row.used + span, i];
  });
  for (const { used, last } of rows) {
    const span = spans[last] ?? 1;
    spans[last] = Math.min(span + columns - used, MOST_TIMES * span);
  }
  return spans;
}

/** The same for each grid, as properties of the style of each section. */
export function packed(counts: readonly number[]): Record<string, string>[] {
  const all = GRIDS.map((columns) => [columns, spansIn(columns, counts)] as const);
  return counts.map((count, i) => ({
    "--count": String(count),
    ...Object.fromEntries(all.map(([columns, spans]) => [`--of-${columns}`, String(spans[i] ?? 1)])),
  }));
}
