/** A button that opens a card below or above itself; Escape, a press outside, and leaving it close the card. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import style from "./Popover.module.css";

const GAP_PX = 4;
const EDGE_PX = 8;
/** The bar of pages covers the lower end of a narrow screen. */
const BAR_PX = 48;
/** A lower card shows too little of a menu. */
const LEAST_PX = 240;
/** Even in a pane that leaves less room. */
const SMALLEST_PX = 120;

const roomBelow = (): number => innerHeight - BAR_PX - EDGE_PX;

/** Puts the card above its button if there is more room, and makes it no higher than the room. */
function placeAlong(panel: HTMLElement, button: DOMRect, pane: DOMRect | undefined): void {
  Object.assign(panel.style, { top: "", bottom: "", maxHeight: "" });
  const { height } = panel.getBoundingClientRect();
  const { top = 0, bottom = innerHeight } = pane ?? {};
  const { isAbove, room } = roomAlong(button, height, Math.max(0, top), Math.min(innerHeight, bottom));
  if (isAbove) Object.assign(panel.style, { top: "auto", bottom: `calc(100% + ${GAP_PX}px)` });
  if (height > room) panel.style.maxHeight = `${room}px`;
}

interface Props {
  label: string;
  title?: string;
  button: ComponentChildren;
  buttonClass: string;
  /** Drawn while open; calls `close` after a choice. */
  children: (close: () => void) => ComponentChildren;
  align?: "left" | "right";
  /** A selector of an ancestor: the card opens beside it, if there is room. */
  beside?: string;
}

export function Popover({ label, title, button, buttonClass, children, align = "left", beside = "" }: Props) {
  const [isOpen, open] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const card = useRef<HTMLDivElement>(null);

  const close = (): void => {
    open(false);
    opener.current?.focus();
  };

  useEffect(() => {
    if (!isOpen) return undefined;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) open(false);
    };
    addEventListener("pointerdown", outside);
    addEventListener("focusin", outside);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", outside);
    };
  }, [isOpen]);

  // On a narrow screen the card has the width of the screen, and its place below the button depends on its height. On a
  // wide one, the pane that scrolls would cut it off at its side.
  useLayoutEffect(() => {
    const [panel, own] = [card.current, opener.current];
    if (!isOpen || panel === null || own === null) return undefined;
    const owner = beside === "" ? null : own.closest(beside);
    if (owner !== null && getComputedStyle(panel).position === "fixed") raise(owner);
    const observer = new ResizeObserver(() => {
      if (getComputedStyle(panel).position !== "fixed") {
        const pane = paneOf(panel)?.getBoundingClientRect();
        panel.style.maxWidth = pane === undefined ? "" : `${pane.width - 2 * EDGE_PX}px`;
        const { left, width } = panel.getBoundingClientRect();
        const plain = left - (Number.parseFloat(panel.style.translate) || 0);
        const [low, high] = [(pane?.left ?? 0) + EDGE_PX, (pane?.right ?? innerWidth) - EDGE_PX - width];
        const around = owner?.getBoundingClientRect();
        const wanted = around === undefined ? plain : placeBeside(around, width, low, high, plain);
        panel.style.translate = `${Math.max(low, Math.min(high, wanted)) - plain}px`;
        placeAlong(panel, own.getBoundingClientRect(), pane);
        return;
      }
      Object.assign(panel.style, { translate: "", bottom: "", maxWidth: "" }); // the screen may have been wide
      const below = (owner ?? own).getBoundingClientRect().bottom + GAP_PX;
      if (owner !== null && roomBelow() - below >= LEAST_PX) panel.style.maxHeight = `${roomBelow() - below}px`;
      const { top, height } = panel.getBoundingClientRect();
      const wanted = Math.max(EDGE_PX, Math.min(below, roomBelow() - height));
      panel.style.top = `${panel.offsetTop + wanted - top}px`;
    });
    observer.observe(panel);
    return () => observer.disconnect();
  }, [isOpen, beside]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen || event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };

  return (
    <div class={style["root"]} ref={root} onKeyDown={onKeyDown} role="presentation">
      <button
        type="button"
        ref={opener}
        class={buttonClass}
        title={title}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        <span class="hidden">{label} </span>
        {button}
      </button>
      {isOpen && (
        <div class={`${style["panel"]} ${style[align]}`} role="dialog" aria-label={label} ref={card}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

/** Whether a card of a height goes above its button, and its room there. */
export function roomAlong(
  button: { top: number; bottom: number },
  height: number,
  low: number,
  high: number,
): { isAbove: boolean; room: number } {
  const above = button.top - GAP_PX - EDGE_PX - low;
  const below = high - EDGE_PX - GAP_PX - button.bottom;
  const isAbove = height > below && above > below;
  return { isAbove, room: Math.max(isAbove ? above : below, SMALLEST_PX) };
}

/** The left edge of a card beside a box, at its right or else at its left; unchanged without room. */
export function placeBeside(
  { left, right }: { left: number; right: number },
  width: number,
  low: number,
  high: number,
  plain: number,
): number {
  const [before, after] = [left - GAP_PX - width, right + GAP_PX];
  if (after <= high) return after;
  return before >= low ? before : plain;
}

/** The pane around an element, which scrolls. */
function paneOf(element: Element): Element | null {
  let pane = element.parentElement;
  while (pane !== null && !/auto|scroll/.test(getComputedStyle(pane).overflowY)) pane = pane.parentElement;
  return pane;
}

/** Scrolls only the pane around it: `scrollIntoView` would also move the frame of the page. */
function raise(owner: Element): void {
  const pane = paneOf(owner);
  if (pane !== null) pane.scrollTop += owner.getBoundingClientRect().top - pane.getBoundingClientRect().top - EDGE_PX;
}
