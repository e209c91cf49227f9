/**
 * Rows of equal height in a list of any length, or columns of equal width: which of them to draw, and where.
 * `lib/list/scroll.ts` has the arithmetic.
 */

import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { isScaled, realOf, revealed, rowsAt, spaceOf, topOf } from "../../lib/list/scroll";

const OVER = 8;
/** After this time without a scroll event the scroll bar moves to the rows. */
const SETTLE_MS = 200;

const SIDES = {
  rows: { scroll: "scrollTop", size: "clientHeight" },
  columns: { scroll: "scrollLeft", size: "clientWidth" },
} as const;

interface Options {
  count: number;
  rowPx: number;
  scroller: RefObject<HTMLElement | null>;
  /** The height of sticky content above the rows, which hides them; for columns, the width beside them. */
  abovePx: number;
  of?: keyof typeof SIDES;
}

export interface DrawnRows {
  /** The height of the element with the rows. */
  spacePx: number;
  rows: readonly { index: number; top: number }[];
  /** Scroll as little as possible to show a row. */
  reveal: (row: number) => void;
}

export function useRows({ count, rowPx, scroller, abovePx, of = "rows" }: Options): DrawnRows {
  const side = SIDES[of];
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const at = useRef({ top: 0, real: 0, viewPx: 0 });
  const now = at.current;
  const space = spaceOf(count, rowPx, now.viewPx);
  const latest = useRef({ space, count, rowPx, abovePx });
  latest.current = { space, count, rowPx, abovePx };

  const go = (real: number): void => {
    const element = scroller.current;
    if (element === null) return;
    now.real = real;
    element[side.scroll] = topOf(latest.current.space, real);
    now.top = element[side.scroll];
    draw(undefined);
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = (): void => {
      if (isScaled(latest.current.space)) go(now.real);
    };
    const onScroll = (): void => {
      const top = element[side.scroll];
      if (top === now.top) return;
      now.real = realOf(latest.current.space, top, now.top, now.real);
      now.top = top;
      clearTimeout(timer);
      timer = setTimeout(settle, SETTLE_MS);
      draw(undefined);
    };
    const measure = (): void => {
      const viewPx = Math.max(0, element[side.size] - latest.current.abovePx);
      if (viewPx === now.viewPx) return;
      now.viewPx = viewPx;
      draw(undefined);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
    // The element stays the same while the list is drawn; everything else is read when needed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scroller.current, abovePx]);

  // When the rows change, the top row keeps its place if it still exists.
  useLayoutEffect(() => {
    const end = Math.max(0, latest.current.space.rowsPx - now.viewPx);
    if (now.real > end) go(end);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [count, rowPx]);

  const [first, last] = rowsAt(space, count, rowPx, now.real, OVER);
  const shift = isScaled(space) ? now.top - now.real : 0;
  return {
    spacePx: space.spacePx,
    rows: Array.from({ length: Math.max(0, last - first) }, (_, i) => ({
      index: first + i,
      top: (first + i) * rowPx + shift,
    })),
    reveal(row) {
      if (now.viewPx === 0) return;
      const here = spaceOf(latest.current.count, latest.current.rowPx, now.viewPx);
      latest.current = { ...latest.current, space: here };
      const to = revealed(here, latest.current.rowPx, row, now.real);
      if (to !== now.real) go(to);
    },
  };
}
