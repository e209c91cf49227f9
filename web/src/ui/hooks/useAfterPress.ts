/** Runs an action after a press is over, so that nothing moves under the pointer. */

import { useLayoutEffect, useRef } from "preact/hooks";

/** These events end a press; a list that the browser opens may swallow the first ones. */
const ENDS = ["pointerup", "pointercancel", "pointermove", "keydown"] as const;

/**
 * A function that runs an action after the current press and its effects; at once without a press. The last action
 * wins.
 */
export function useAfterPress(): (act: () => void) => void {
  const isPressing = useRef(false);
  const wish = useRef<(() => void) | null>(null);
  const isGone = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // A finger lifts before the focus moves, and its click comes in the same task.
  const soon = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const act = wish.current;
      wish.current = null;
      act?.();
    });
  };
  // Before an element is removed, because it then loses the focus.
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
