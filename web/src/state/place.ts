/** Where the page is: the address as a signal, and the ways to change it. */

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { format, moved, parse, type Place } from "../lib/address";

const BASE = new URL(".", document.baseURI).pathname;

function read(): Place {
  const path = location.pathname;
  return parse(path.startsWith(BASE) ? path.slice(BASE.length) : path, location.search);
}

export const place = signal<Place>(read());

/** The fields of the place, one by one: who reads only the page is not drawn again with every sample that is leafed past. */
export const field = Object.fromEntries(
  (Object.keys(place.peek()) as (keyof Place)[]).map((name) => [name, computed(() => place.value[name])]),
) as unknown as { readonly [Name in keyof Place]: ReadonlySignal<Place[Name]> };

/** Moves of one kind that follow each other within this are one entry of the history. */
const LEAF_MS = 1500;

let leaving: () => void = () => undefined;

/** Say who is told before the page goes somewhere else. */
export function onLeaving(listener: () => void): void {
  leaving = listener;
}

/** The address of a place that the page shows already. Setting it takes milliseconds, so it is set after the frame. */
let late: string | null = null;

/** The place that links lead on from. It lags behind a frame too: all links are written anew with it, and nobody follows one sooner. */
const linked = signal<Place>(place.peek());

effect(() => {
  const here = place.value;
  if (late === null) linked.value = here;
});

/** Set the address now, if that still has to be done. */
export function settle(): void {
  if (late === null) return;
  const address = late;
  late = null;
  write("replace", address);
  linked.value = place.peek();
}

function write(how: "push" | "replace", address: string): void {
  try {
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // Some browsers refuse more than so many changes of the address in a while; the page goes on without.
  }
}

function settleLater(address: string): void {
  if (late === null) requestAnimationFrame(() => setTimeout(settle));
  late = address;
}

let lastLeaf = { what: "", at: -LEAF_MS };

/** What kind of leafing a change is: only another sample, or only another step; empty for anything else. */
function leafed(change: Partial<Place>): string {
  const keys = Object.keys(change);
  return keys.length === 1 && (keys[0] === "sample" || keys[0] === "step") ? (keys[0] ?? "") : "";
}

/** Go somewhere. `replace` for what the page chose by itself, so that Back does not lead to a half address. */
export function go(change: Partial<Place>, how: "push" | "replace" = "push"): void {
  const next = moved(place.peek(), change);
  const address = BASE + format(next);
  if (address === (late ?? location.pathname + location.search)) how = "replace";
  // Leafing is one way, however many samples it passes: Back leads to where it began.
  const leaf = how === "push" ? leafed(change) : "";
  if (leaf !== "" && leaf === lastLeaf.what && performance.now() - lastLeaf.at < LEAF_MS) {
    lastLeaf = { what: leaf, at: performance.now() };
    settleLater(address);
    place.value = next;
    return;
  }
  lastLeaf = { what: leaf, at: performance.now() };
  settle();
  if (how === "push") leaving();
  write(how, address);
  place.value = next;
}

/** The address of somewhere, for links. */
export function href(change: Partial<Place>): string {
  return BASE + format(moved(linked.value, change));
}

/** False for presses with other buttons and keys, which are the browser's. */
export const isPlainPress = (event: MouseEvent): boolean => event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

/** Make a link go there without loading the page again; other keys and buttons stay the browser's. */
export function onLink(change: Partial<Place>): (event: MouseEvent) => void {
  return (event) => {
    if (!isPlainPress(event)) return;
    event.preventDefault();
    go(change);
  };
}

export function startPlace(): void {
  addEventListener("pagehide", settle);
  document.addEventListener("visibilitychange", settle); // a page that is not seen paints no frame
  addEventListener("popstate", () => {
    late = null;
    lastLeaf = { what: "", at: -LEAF_MS }; // what was come back to is an end of its own
    place.value = read();
  });
}
