/**
 * The scroll position of each pane, stored with each entry of the browser's history: Back and reload restore it.
 *
 * A pane takes part with `data-scroll="NAME"`. Its content may load or be laid out in pieces, so scrolling repeats as
 * it grows, until the position is reached or the reader moves.
 */

import { isRecord } from "../../lib/data/record";
import type { Session } from "../session";

type Places = Record<string, number>;

const SAVE_MS = 300;
/** How long to wait for a pane that is still being filled. */
const PATIENCE_MS = 5000;
/** How long a pane must keep its position before it counts as restored. */
const STEADY_MS = 400;
const MOVES = ["wheel", "pointerdown", "keydown", "touchstart"] as const;

// There is one window with one history, whatever sessions it shows.

/** The number of the current restoring; 0 for none. */
let restoring = 0;
let count = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

function panes(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-scroll]")];
}

function save(session: Session): void {
  clearTimeout(timer);
  timer = undefined;
  if (restoring !== 0) return;
  session.place.settle();
  const places: Places = {};
  for (const pane of panes()) if (pane.scrollTop > 0) places[pane.dataset["scroll"] ?? ""] = Math.round(pane.scrollTop);
  if (JSON.stringify(places) === JSON.stringify(positionsIn(history.state))) return; // it costs milliseconds
  try {
    history.replaceState({ scroll: places }, "", location.href);
  } catch {
    // Some browsers refuse frequent changes: the next one includes this one.
  }
}

function positionsIn(state: unknown): Places {
  if (!isRecord(state) || !isRecord(state["scroll"])) return {};
  return Object.fromEntries(
    Object.entries(state["scroll"]).flatMap(([pane, top]) => (typeof top === "number" && top > 0 ? [[pane, top]] : [])),
  );
}

function restore(places: Places): void {
  count += 1;
  const thisRound = count;
  restoring = thisRound;
  const began = performance.now();
  const steady = new Map<string, number>();
  const stop = (): void => {
    if (thisRound === restoring) restoring = 0;
    for (const move of MOVES) removeEventListener(move, stop, true);
  };
  for (const move of MOVES) addEventListener(move, stop, { capture: true, passive: true });
  const look = (): void => {
    const now = performance.now();
    if (thisRound !== restoring) return;
    let isDone = true;
    for (const [name, top] of Object.entries(places)) {
      const pane = panes().find((one) => one.dataset["scroll"] === name);
      if (pane !== undefined && Math.abs(pane.scrollTop - top) > 1) {
        pane.scrollTop = top;
        steady.delete(name);
      } else if (pane !== undefined && !steady.has(name)) steady.set(name, now);
      isDone &&= now - (steady.get(name) ?? now) > STEADY_MS;
    }
    if (isDone || now - began > PATIENCE_MS) stop();
    else requestAnimationFrame(look);
  };
  look();
}

export function startScroll(session: Session): void {
  session.place.onLeaving(() => {
    restoring = 0;
    save(session);
  });
  addEventListener("pagehide", () => save(session));
  addEventListener("popstate", (event: PopStateEvent) => {
    clearTimeout(timer);
    restore(positionsIn(event.state));
  });
  document.addEventListener(
    "scroll",
    (event) => {
      if (!(event.target instanceof HTMLElement) || event.target.dataset["scroll"] === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => save(session), SAVE_MS);
    },
    { capture: true, passive: true },
  );
  session.effect(() => {
    void session.place.now.value;
    clearTimeout(timer);
    timer = setTimeout(() => save(session), SAVE_MS);
  });
  restore(positionsIn(history.state));
}
