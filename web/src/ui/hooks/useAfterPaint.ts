/** Lets a part of the page follow the others by a frame, so that the frame which the reader waits for is quick. */

import { useEffect, useReducer, useRef } from "preact/hooks";

/** The value; one with another key replaces the value before it after the frame is painted. */
export function useAfterPaint<T>(value: T, key: string): T {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const shown = useRef({ value, key });
  const isOther = shown.current.key !== key;
  if (!isOther) shown.current.value = value;
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    if (shown.current.key === key) return;
    shown.current = { value: latest.current, key };
    draw(undefined);
  }, [key]);
  return shown.current.value;
}
