/** Marks on text in the page: the browser paints ranges (CSS Custom Highlight API) without added elements. */

export interface Place {
  start: number;
  stop: number;
}

/** Names that the styles know. If the browser cannot paint ranges, nothing is painted; going to a place still works. */
export type Paint = "search" | "find" | "here" | "special" | (typeof STYLES)[number];

/** The styles of a terminal that show: a browser paints colours and lines, and no weights. */
export const STYLES = ["dim", "underline", "red", "green", "yellow", "blue", "magenta", "cyan"] as const;

const PRIORITIES: Partial<Record<Paint, number>> = { here: 3, find: 2, search: 1, special: 1 };

function registry(name: Paint): Highlight | null {
  if (typeof Highlight === "undefined" || typeof CSS === "undefined" || CSS.highlights === undefined) return null;
  let result = CSS.highlights.get(name);
  if (result === undefined) {
    result = new Highlight();
    result.priority = PRIORITIES[name] ?? 0;
    CSS.highlights.set(name, result);
  }
  return result;
}

/** The ranges of places in an element's text; places are in ascending order. */
export function rangesOf(element: Element, places: readonly Place[]): Range[] {
  const result: Range[] = [];
  if (places.length === 0) return result;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let next = 0;
  let passed = 0;
  let open: Range | null = null;
  for (let node = walker.nextNode(); node !== null && next < places.length; node = walker.nextNode()) {
    const length = node.nodeValue?.length ?? 0;
    for (let place = places[next]; place !== undefined; place = places[next]) {
      if (open === null) {
        if (place.start >= passed + length) break;
        open = document.createRange();
        open.setStart(node, Math.max(0, place.start - passed));
      }
      if (place.stop > passed + length) break;
      open.setEnd(node, Math.max(0, place.stop - passed));
      result.push(open);
      open = null;
      next += 1;
    }
    passed += length;
  }
  return result;
}

/** Paint ranges. The returned function removes the paint. */
export function paint(name: Paint, ranges: readonly Range[]): () => void {
  const into = ranges.length === 0 ? null : registry(name);
  if (into === null) return () => undefined;
  for (const range of ranges) into.add(range);
  return () => {
    for (const range of ranges) into.delete(range);
  };
}

/** Tells a box that the page is about to scroll it, so that it does not return to its end. */
export const STAY = "rolloupe-stay";

const FRAMES = 4;

/** Scroll a range into view, in each enclosing box, repeatedly: pieces get their true height only as they come near. */
export function show(range: Range, frames = FRAMES): void {
  const element = range.startContainer.parentElement;
  if (element === null || !element.isConnected) return;
  element.dispatchEvent(new CustomEvent(STAY, { bubbles: true }));
  if (frames === FRAMES) element.scrollIntoView({ block: "nearest" });
  for (let box = element.parentElement; box !== null; box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight + 1 || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    const frame = box.getBoundingClientRect();
    const { top, bottom } = range.getBoundingClientRect();
    if (top < frame.top + 24 || bottom > frame.bottom - 24)
      box.scrollTop += (top + bottom) / 2 - (frame.top + Math.min(frame.bottom, innerHeight)) / 2;
  }
  if (frames > 1) requestAnimationFrame(() => show(range, frames - 1));
}
