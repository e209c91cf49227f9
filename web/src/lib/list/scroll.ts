/**
 * A scroll space for more rows than fit in an element, whose height browsers limit to 17 to 33 million pixels. Up to
 * `MOST_PX` the space is as high as the rows. Above that it is scaled: small moves (wheel, keys) go by real rows, large
 * ones (the scrollbar, Home, End) by share of the whole, and both ends are exact.
 */

export const MOST_PX = 8_000_000;

export interface Space {
  /** The heights of all rows, of the element that holds them, and of its visible part; all in pixels. */
  rowsPx: number;
  spacePx: number;
  viewPx: number;
}

export function spaceOf(count: number, rowPx: number, viewPx: number): Space {
  const rowsPx = count * rowPx;
  return { rowsPx, spacePx: Math.min(rowsPx, MOST_PX), viewPx };
}

export const isScaled = ({ rowsPx, spacePx }: Space): boolean => rowsPx > spacePx;

/** The furthest that rows, and the element, can be scrolled. */
const endOf = (px: number, { viewPx }: Space): number => Math.max(0, px - viewPx);

/** The scroll position of the element if the rows are at `real`. */
export function topOf(space: Space, real: number): number {
  if (!isScaled(space)) return Math.min(real, endOf(space.spacePx, space));
  const end = endOf(space.rowsPx, space);
  return Math.round((Math.min(Math.max(0, real), end) / end) * endOf(space.spacePx, space));
}

/** The position of the rows after the element was scrolled from `before` to `top`; it was `real` before. */
export function realOf(space: Space, top: number, before: number, real: number): number {
  if (!isScaled(space)) return top;
  const end = endOf(space.rowsPx, space);
  const last = endOf(space.spacePx, space);
  if (top <= 0) return before <= space.viewPx * 2 && real > space.viewPx * 2 ? Math.max(0, real + top - before) : 0;
  if (top >= last)
    return last - before <= space.viewPx * 2 && end - real > space.viewPx * 2
      ? Math.min(end, real + top - before)
      : end;
  const moved = top - before;
  if (Math.abs(moved) > space.viewPx * 2) return (top / last) * end;
  return Math.min(end, Math.max(0, real + moved));
}

/** The rows to draw, including some beyond the edges; the end is exclusive. */
export function rowsAt(space: Space, count: number, rowPx: number, real: number, over: number): [number, number] {
  const first = Math.max(0, Math.floor(real / rowPx) - over);
  return [first, Math.min(count, Math.ceil((real + space.viewPx) / rowPx) + over)];
}

/** The nearest position of the rows that shows a row. */
export function revealed(space: Space, rowPx: number, row: number, real: number): number {
  const top = row * rowPx;
  if (top < real) return top;
  return Math.min(Math.max(real, top + rowPx - space.viewPx), endOf(space.rowsPx, space));
}
