/**
 * The widths of charts, from one observer for all of them: charts that appear together are made in one task and drawn
 * after it. If each were drawn before the next is made, the page would be laid out once for each.
 */

const listeners = new Map<Element, (width: number) => void>();
let observer: ResizeObserver | null = null;

/** Calls `tell` with the width of the element, now and whenever it changes, until the returned function is called. */
export function watchWidth(element: Element, tell: (width: number) => void): () => void {
  observer ??= new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) listeners.get(target)?.(Math.round(contentRect.width));
  });
  listeners.set(element, tell);
  observer.observe(element);
  return () => {
    listeners.delete(element);
    observer?.unobserve(element);
  };
}
