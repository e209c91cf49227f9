/** Tells at which edges a horizontally scrolling element has more: styles fade it there. */

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** An element counts as scrolled to its end within this distance: positions are rounded. */
const SLACK_PX = 1;

export function useEdges(scroller: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = (): void => {
      const { scrollLeft, clientWidth, scrollWidth, offsetWidth } = element;
      const edges = [
        scrollLeft > SLACK_PX ? "left" : "",
        scrollLeft + clientWidth < scrollWidth - SLACK_PX ? "right" : "",
      ]
        .join(" ")
        .trim();
      if (element.dataset["edges"] !== edges) element.dataset["edges"] = edges;
      element.style.setProperty("--bar", `${offsetWidth - clientWidth}px`);
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    const watch = (): void => {
      for (const child of element.children) observer.observe(child);
    };
    watch();
    const children = new MutationObserver(watch);
    children.observe(element, { childList: true });
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      children.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller]);
}
