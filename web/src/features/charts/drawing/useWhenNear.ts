/** Lets a part of the page that is far from the screen follow the others once they rest. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { watch } from "./watch";

const REST_MS = 200;

/** The value. Far from the screen one with the same key waits until no other has come for a while. */
export function useWhenNear<T>(element: RefObject<Element | null>, value: T, key: string): T {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const shown = useRef({ value, key });
  const isDue = useRef(true);
  const isNear = useRef(false);
  const isLate = !isNear.current && !isDue.current && shown.current.key === key;
  if (!isLate) shown.current = { value, key };
  isDue.current = false;
  const catchUp = (): void => {
    isDue.current = true;
    draw(undefined);
  };
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    return watch(element.current, (_, near) => {
      const isNew = near && !isNear.current;
      isNear.current = near;
      if (isNew) catchUp();
    });
  }, [element]);
  useEffect(() => {
    if (!isLate) return undefined;
    const timer = setTimeout(catchUp, REST_MS);
    return () => clearTimeout(timer);
  }, [value, isLate]);
  return shown.current.value;
}
