/**
 * A box for long text: it scrolls in place, opens at its end if the reader chose that, and can show its full length.
 */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { settings } from "../../state/browser/settings";
import { STAY } from "../text/paint";
import style from "./Box.module.css";

/** Shorter texts, in screens, are shown in full, and the page scrolls. */
const SCREENS = 3;

/** Events by which a reader moves: after one of them the box stays where it is. */
const MOVES = ["wheel", "pointerdown", "keydown", "touchstart", STAY] as const;

interface Props {
  label: string;
  children: ComponentChildren;
  class?: string | undefined;
}

export function Box({ label, children, class: className = "" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(settings.peek().openAtEnd);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const [isCutAbove, setCutAbove] = useState(false);

  // Sizes come from the observer alone: reading them would lay out every turn of a transcript, even off the screen.
  // Pieces of a long text get their true height only as they come near, so it scrolls to the end repeatedly.
  useLayoutEffect(() => {
    const element = box.current;
    const content = inner.current;
    if (element === null || content === null) return undefined;
    const observer = new ResizeObserver(() => {
      setLong(content.offsetHeight > SCREENS * innerHeight);
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    observer.observe(content);
    const stay = (): void => {
      isAtEnd.current = false;
    };
    for (const move of MOVES) element.addEventListener(move, stay, { passive: true });
    const look = (): unknown => setCutAbove(element.scrollTop > 1);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
      for (const move of MOVES) element.removeEventListener(move, stay);
    };
  }, []);

  const to = (end: boolean): void => {
    isAtEnd.current = end;
    box.current?.scrollTo(0, end ? box.current.scrollHeight : 0);
  };

  const isScrolling = isLong && !isWhole;
  return (
    <>
      {isScrolling && isCutAbove && (
        <button type="button" class={`action ${style["above"]}`} onClick={() => to(false)}>
          ↑ The text begins above
        </button>
      )}
      <div
        ref={box}
        class={`${style["box"]} ${isScrolling ? style["long"] : ""} ${className}`}
        tabIndex={isScrolling ? 0 : undefined}
        role={isScrolling ? "region" : undefined}
        aria-label={isScrolling ? label : undefined}
      >
        <div ref={inner}>{children}</div>
      </div>
      {(isLong || isWhole) && (
        <div class={style["foot"]}>
          {!isWhole && (
            <>
              <button type="button" class="action" onClick={() => to(false)}>
                To its start
              </button>
              <button type="button" class="action" onClick={() => to(true)}>
                To its end
              </button>
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
