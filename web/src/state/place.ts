/** Where the page is: the address as a signal, and the ways to change it. */

import { signal } from "@preact/signals";
import { format, moved, parse, type Place } from "../lib/address";

const base = (): string => new URL(".", document.baseURI).pathname;

function read(): Place {
  const path = location.pathname;
  return parse(path.startsWith(base()) ? path.slice(base().length) : path, location.search);
}

export const place = signal<Place>(read());

/** Go somewhere. `replace` for what the page chose by itself, so that Back does not lead to a half address. */
export function go(change: Partial<Place>, how: "push" | "replace" = "push"): void {
  const next = moved(place.peek(), change);
  const address = base() + format(next);
  if (address === location.pathname + location.search) how = "replace";
  if (how === "push") history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  place.value = next;
}

/** The address of somewhere, for links. */
export function href(change: Partial<Place>): string {
  return base() + format(moved(place.value, change));
}

/** Make a link go there without loading the page again; other keys and buttons stay the browser's. */
export function onLink(change: Partial<Place>): (event: MouseEvent) => void {
  return (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(change);
  };
}

export function startPlace(): void {
  addEventListener("popstate", () => {
    place.value = read();
  });
}
