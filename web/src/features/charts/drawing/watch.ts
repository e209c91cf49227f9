/**
 * Observes all charts at once: their widths, and whether they are on the screen or near it. Charts that appear together
 * are made in one task and drawn after it, which lays out the page only once.
 */

/** A chart that is hidden has no width and is not near. */
type Tell = (width: number, isNear: boolean) => void;

/** A chart that comes so near is drawn before it is seen. */
const MARGIN_PX = 200;

const watched = new Map<Element, { tell: Tell; width: number; isNear: boolean }>();
let observers: readonly [ResizeObserver, IntersectionObserver] | null = null;

/** Calls `tell` now and whenever something changes, until the returned function is called. */
export function watch(element: Element, tell: Tell): () => void {
  observers ??= started();
  watched.set(element, { tell, width: 0, isNear: false });
  for (const one of observers) one.observe(element);
  return () => {
    watched.delete(element);
    for (const one of observers ?? []) one.unobserve(element);
  };
}

function started(): [ResizeObserver, IntersectionObserver] {
  const change = (element: Element, to: { width?: number; isNear?: boolean }): void => {
    const one = watched.get(element);
    if (one !== undefined) {
      const { tell, width, isNear } = Object.assign(one, to);
      tell(width, isNear && width > 0);
    }
  };
  addEventListener("beforeprint", () => {
    for (const element of watched.keys()) change(element, { isNear: true });
  });
  const margin = `${MARGIN_PX}px`;
  return [
    new ResizeObserver((entries) => {
      // Where they are is asked before the first is made. The other observer tells of those near it a frame later.
      const seen = entries.map(({ target }) => isOnScreen(target.getBoundingClientRect()));
      entries.forEach(({ target, contentRect }, i) =>
        change(target, { width: Math.round(contentRect.width), ...(seen[i] === true ? { isNear: true } : {}) }),
      );
    }),
    new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) change(target, { isNear: isIntersecting });
      },
      { rootMargin: margin, scrollMargin: margin },
    ),
  ];
}

const isOnScreen = ({ top, bottom }: DOMRect): boolean => bottom > 0 && top < innerHeight;
