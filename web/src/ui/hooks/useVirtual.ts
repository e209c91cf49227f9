/** Rows of a long list: which of them to draw, and where. virtual-core has the arithmetic. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface Options {
  count: number;
  scroller: RefObject<HTMLElement | null>;
  height: (row: number) => number;
  /** A key that changes when heights have changed. */
  shape: unknown;
  /** The distance of the rows from the top of the scrolling element. */
  margin?: number;
}

export function useVirtual({
  count,
  scroller,
  height,
  shape,
  margin = 0,
}: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const instance = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: height,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: 8,
    scrollMargin: margin,
    onChange: () => draw(undefined),
  };
  instance.current ??= new Virtualizer(options);
  const virtual = instance.current;
  virtual.setOptions(options);
  useEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => virtual.measure(), [virtual, shape, count, margin]);
  return virtual;
}
