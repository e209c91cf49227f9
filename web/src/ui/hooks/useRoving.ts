/** A row of links with one tab stop: the arrow keys, Home and End move the focus within it. */

import { useState } from "preact/hooks";

/** The properties of the link at a place of the row. */
interface Roving {
  tabIndex: 0 | -1;
  onFocus: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** `count` is the number of links, if it may shrink. The row is an element with `data-row`, else the parent. */
export function useRoving(count = Infinity): (place: number) => Roving {
  const [at, move] = useState(0);
  return (place) => ({
    tabIndex: place === Math.min(at, count - 1) ? 0 : -1,
    onFocus: () => move(place),
    onKeyDown: walk,
  });
}

function walk(event: KeyboardEvent): void {
  if (!(event.currentTarget instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = event.currentTarget.closest("[data-row]") ?? event.currentTarget.parentElement;
  const links = [...(row?.querySelectorAll("a") ?? [])];
  const now = links.findIndex((link) => link === event.currentTarget);
  const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: links.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  links[Math.max(0, Math.min(links.length - 1, to))]?.focus();
}
