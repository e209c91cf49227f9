/** A sample opens at its end, which the model wrote last, if the reader chose that. */

import { useSession } from "../../../state/useSession";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { settings } from "../../../state/browser/settings";

const ROOM_PX = 16;
const MOVES = ["wheel", "pointerdown", "keydown", "touchstart"] as const;

/**
 * While a sample is drawn, keep the end of its response in the window, until the reader moves. Along the steps of a
 * prompt, the scroll position stays. Returns the references of what is drawn, and of the mark at the end of the
 * response.
 */
export function useEnd(isBelow: boolean): [RefObject<HTMLElement | null>, RefObject<HTMLDivElement | null>] {
  const session = useSession();
  const drawn = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const content = drawn.current;
    const panes = [content?.closest<HTMLElement>("[data-scroll=sample]"), content?.closest<HTMLElement>("main")];
    const isElsewhere = session.prompt.isAlong.peek() || session.highlights.target.peek() !== null;
    if (content === null || isBelow || isElsewhere || !settings.peek().openAtEnd) return undefined;
    let last = 0;
    const bring = (): void => {
      const pane = panes.find((one) => one && one.scrollHeight > one.clientHeight + 1);
      if (!pane || end.current === null) return;
      pane.scrollTop += end.current.getBoundingClientRect().bottom + ROOM_PX - pane.getBoundingClientRect().bottom;
      last = pane.scrollTop;
    };
    // Turns off the screen get their true height only as they come near.
    const observer = new ResizeObserver(bring);
    const stop = (): void => observer.disconnect();
    const look = (event: Event): void => {
      if (event.target instanceof HTMLElement && Math.abs(event.target.scrollTop - last) > 1) stop();
    };
    observer.observe(content);
    for (const pane of panes) {
      if (!pane) continue;
      observer.observe(pane);
      pane.addEventListener("scroll", look, { passive: true });
    }
    for (const move of MOVES) addEventListener(move, stop, { capture: true, passive: true });
    queueMicrotask(bring); // once the pane is at its start: the first frame then needs no second one
    return () => {
      stop();
      for (const pane of panes) pane?.removeEventListener("scroll", look);
      for (const move of MOVES) removeEventListener(move, stop, true);
    };
  }, [session, isBelow]);
  return [drawn, end];
}
