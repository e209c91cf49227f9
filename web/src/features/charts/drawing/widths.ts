/**
 * Observes the widths of all charts at once: charts that appear together are made in one task and drawn after it, which
 * lays out the page only once.
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
