/** A box that holds long text: it scrolls in its place, opens at its end if so chosen, and can be opened to its full length. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { settings } from "../state/settings";
import style from "./Box.module.css";

const FRAMES = 8;

export function Box({ label, children, class: className = "" }: { label: string; children: ComponentChildren; class?: string | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => setLong(element.scrollHeight > element.clientHeight + 1);
    measure();
    const stop = settings.peek().openAtEnd ? toEnd(element) : undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      stop?.();
      observer.disconnect();
    };
  }, []);

  const to = (end: boolean): void => {
    if (box.current === null) return;
    if (end) toEnd(box.current);
    else box.current.scrollTop = 0;
  };

  return (
    <>
      <div
        ref={box}
        class={`${style["box"]} ${isWhole ? style["whole"] : ""} ${isLong && !isWhole ? style["long"] : ""} ${className}`}
        tabIndex={isLong && !isWhole ? 0 : undefined}
        role={isLong ? "region" : undefined}
        aria-label={isLong ? label : undefined}
      >
        {children}
      </div>
      {(isLong || isWhole) && (
        <div class={style["foot"]}>
          {!isWhole && (
            <>
              <button type="button" class="action" onClick={() => to(false)}>To its start</button>
              <button type="button" class="action" onClick={() => to(true)}>To its end</button>
            </>
          )}
          <button type="button" class="action" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "In a box" : "Full length"}
          </button>
        </div>
      )}
    </>
  );
}

/** Scroll to the end. Pieces of a long text get their true height only when they are near, so the end may move on. */
function toEnd(element: HTMLElement): () => void {
  let left = FRAMES;
  let frame = 0;
  const step = (): void => {
    const before = element.scrollTop;
    element.scrollTop = element.scrollHeight;
    left -= 1;
    if (left > 0 && (element.scrollTop !== before || left > FRAMES - 3)) frame = requestAnimationFrame(step);
  };
  step();
  return () => cancelAnimationFrame(frame);
}
