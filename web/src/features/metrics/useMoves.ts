/** Moves charts: by dragging their handles, and with Alt and the arrow keys on the focused chart. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { idOf } from "../../lib/charts/layout";
import { figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { announce } from "../../ui/overlay/announce";
import type { Layout } from "./choice";
import style from "./Layout.module.css";

const BACK = new Set(["ArrowLeft", "ArrowUp"]);
const ON = new Set(["ArrowRight", "ArrowDown"]);
/** The attribute that holds the place of a card. */
const PLACE = "data-place";

export interface Drag {
  from: number;
  over: number;
}

interface Moves {
  /** The dragged chart, and the one whose place it takes; null while none is dragged. */
  drag: Drag | null;
  grab: (from: number, event: PointerEvent) => void;
}

function placeOf(target: EventTarget | null): number | null {
  const place = target instanceof Element ? target.closest(`[${PLACE}]`)?.getAttribute(PLACE) : null;
  return place === null || place === undefined ? null : Number(place);
}

/** The class of the card at a place, with the mark of where a dragged chart will stand. */
export function cardClass(drag: Drag | null, at: number): string {
  const mark =
    drag === null || drag.over === drag.from
      ? ""
      : at === drag.from
        ? (style["dragged"] ?? "")
        : at === drag.over
          ? (style[drag.over < drag.from ? "before" : "after"] ?? "")
          : "";
  return `${style["card"]} ${mark}`;
}

export function useMoves({ placed, moveTo, moveBy }: Layout): Moves {
  const [drag, setDrag] = useState<Drag | null>(null);
  /** The chart that gets the focus once it is drawn in its new place. */
  const moved = useRef<string | null>(null);
  const keys = useRef<((event: KeyboardEvent) => void) | null>(null);

  keys.current = (event) => {
    const by = BACK.has(event.key) ? -1 : ON.has(event.key) ? 1 : null;
    const from = placeOf(event.target);
    if (by === null || from === null || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault(); // otherwise Alt and an arrow key would go back in the history
    const own = placed[from];
    if (own === undefined || placed[from + by] === undefined) return;
    moved.current = idOf(own.chart);
    moveBy(from, by);
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => keys.current?.(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  useLayoutEffect(() => {
    const id = moved.current;
    const at = placed.findIndex((one) => idOf(one.chart) === id);
    moved.current = null;
    const own = placed[at];
    if (own === undefined) return;
    const card = document.querySelector(`[${PLACE}="${at}"]`);
    card?.querySelector("button")?.focus();
    card?.scrollIntoView({ block: "nearest" });
    announce(`${harmless(own.title)}: ${figure(at + 1)} of ${figure(placed.length)}, in ${harmless(own.section)}`);
  });

  const grab = (from: number, event: PointerEvent): void => {
    const handle = event.currentTarget;
    if (event.button !== 0 || !(handle instanceof HTMLElement)) return;
    handle.setPointerCapture(event.pointerId);
    let over = from;
    const move = ({ clientX, clientY }: PointerEvent): void => {
      over = placeOf(document.elementFromPoint(clientX, clientY)) ?? from;
      setDrag({ from, over });
    };
    const end = ({ type }: Event): void => {
      handle.removeEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel", "keydown"]) handle.removeEventListener(name, end);
      setDrag(null);
      if (type === "pointerup" && over !== from) moveTo(from, over);
    };
    handle.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel", "keydown"]) handle.addEventListener(name, end);
  };
  return { drag, grab };
}
