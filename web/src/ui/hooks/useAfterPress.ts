/** Doing something once a press is over, so that nothing moves from under it. */

import { useLayoutEffect, useRef } from "preact/hooks";

/** A press is over with these; a list that the browser itself opens may keep the first ones to itself. */
const ENDS = ["pointerup", "pointercancel", "pointermove", "keydown"] as const;

/**
 * The way to have something done after the press that goes on, and after what it does; at once where there is none. The
 * last wish holds.
 */
export function useAfterPress(): (act: () => void) => void {
  const isPressing = useRef(false);
  const wish = useRef<(() => void) | null>(null);
  const isGone = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // A finger is lifted before the focus goes, and its click comes in the same task.
  const soon = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const act = wish.current;
      wish.current = null;
      act?.();
    });
  };
  // At once when it is taken away: what is taken away loses the focus, too.
  useLayoutEffect(() => {
    const begin = (): void => {
      isPressing.current = true;
    };
    const end = (event: Event): void => {
      if (event.type === "pointermove" && "buttons" in event && event.buttons !== 0) return;
      isPressing.current = false;
      if (wish.current !== null) soon();
    };
    addEventListener("pointerdown", begin, true);
    for (const name of ENDS) addEventListener(name, end, true);
    return () => {
      removeEventListener("pointerdown", begin, true);
      for (const name of ENDS) removeEventListener(name, end, true);
      clearTimeout(timer.current);
      isGone.current = true;
    };
  }, []);
  return (act) => {
    if (isGone.current) return;
    wish.current = act;
    if (!isPressing.current) soon();
  };
}
