/** Places the card of a token. */

import { NARROW } from "../../../ui/hooks/useMatch";

/** The element of a token; null if it is not on the page. */
export type ElementOf = (token: number) => HTMLElement | null;

const GAP_PX = 6;
/** The number of tokens on each side whose line ends are measured. */
const NEAR = 150;

/**
 * Put a card beside the lines if they leave room, else below a token, or above it if there is more room; it leaves the
 * pane together with the token. On a narrow screen the card is at the bottom, and a token that it would cover scrolls
 * to the middle of the rest.
 */
export function put(
  card: HTMLElement,
  at: number,
  { elementOf, shown }: { elementOf: ElementOf; shown: ElementOf },
  pane: HTMLElement,
  mayMove: boolean,
): void {
  const box = elementOf(at)?.getClientRects()[0];
  if (matchMedia(NARROW).matches) {
    card.style.left = card.style.top = card.style.visibility = "";
    const [top, bottom] = [pane.closest("main")?.getBoundingClientRect().top ?? 0, card.getBoundingClientRect().top];
    if (mayMove && box !== undefined && (box.bottom > bottom - GAP_PX || box.top < top))
      pane.closest("main")?.scrollBy(0, box.top - (top + bottom) / 2);
    return;
  }
  const { top: first, bottom: last, right: end } = pane.getBoundingClientRect();
  card.style.visibility = box === undefined || box.bottom < first || box.top > last ? "hidden" : "";
  if (box === undefined) return;
  const { offsetWidth: width, offsetHeight: height } = card;
  const beside = GAP_PX + lineEnd(at, shown, box.top - height, box.top + height);
  if (beside + width <= end - GAP_PX) {
    card.style.left = `${beside}px`;
    card.style.top = `${Math.max(GAP_PX, Math.min(box.top, innerHeight - height - GAP_PX))}px`;
    return;
  }
  const isBelow = box.bottom + GAP_PX + height <= innerHeight - GAP_PX || box.top < innerHeight / 2;
  const top = isBelow ? box.bottom + GAP_PX : box.top - GAP_PX - height;
  card.style.left = `${Math.max(GAP_PX, Math.min(box.left, innerWidth - width - GAP_PX))}px`;
  card.style.top = `${Math.max(GAP_PX, Math.min(top, innerHeight - height - GAP_PX))}px`;
}

/** The end of the longest line next to a card beside a token; infinite if too many tokens are next to the card. */
function lineEnd(at: number, shown: ElementOf, top: number, bottom: number): number {
  let end = 0;
  for (const step of [-1, 1])
    for (let token = at; ; token += step) {
      const box = shown(token)?.getBoundingClientRect();
      if (box === undefined || box.bottom < top || box.top > bottom) break;
      if (Math.abs(token - at) > NEAR) return Infinity;
      end = Math.max(end, box.right);
    }
  return end;
}
