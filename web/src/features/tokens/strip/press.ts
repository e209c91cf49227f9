/** A press on a drawing of all tokens. */

import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { peakNear, tokenAtPlace } from "../../../lib/tokens/strip/strip";
import type { Session } from "../../../state/session";
import type { Drawn } from "../../../state/tokens/look";

/** A shorter drag is a press. */
const DRAG_PX = 4;
/** A press means the peak within this distance. */
const REACH_PX = 3;

/** Follow a press until it ends: a press goes to a token of the drawn series, a drag selects a range. */
export function press(
  { tokenLook: look }: Session,
  tokens: TokenSample,
  event: PointerEvent,
  drawn: Drawn | null,
): void {
  const plot = event.currentTarget;
  if (!(plot instanceof HTMLElement) || event.button !== 0) return;
  plot.setPointerCapture(event.pointerId);
  const box = plot.getBoundingClientRect();
  const { start, count } = tokens;
  const tokenAt = (at: PointerEvent): number =>
    start + tokenAtPlace((at.clientX - box.left) / box.width, count - start);
  const isDrag = (at: PointerEvent): boolean => Math.abs(at.clientX - event.clientX) >= DRAG_PX;
  const move = (at: PointerEvent): void => {
    if (isDrag(at)) look.select(tokenAt(event), tokenAt(at));
  };
  const end = (at: PointerEvent): void => {
    plot.removeEventListener("pointermove", move);
    plot.removeEventListener("pointerup", end);
    plot.removeEventListener("pointercancel", end);
    if (at.type === "pointercancel") return;
    if (isDrag(at)) look.target.value = { token: look.range.peek()?.from ?? start };
    else if (drawn !== null) look.goTo(peakAt(tokens, at, box, drawn));
  };
  plot.addEventListener("pointermove", move);
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
}

/** The token that the pointer means: the peak nearby. */
function peakAt(
  { start, count, trained }: TokenSample,
  at: PointerEvent,
  box: DOMRect,
  { series, scale }: Drawn,
): number {
  const [values, own] = [series.values.subarray(start, count), trained.subarray(start, count)];
  return start + peakNear(values, own, scale, (at.clientX - box.left) / box.width, REACH_PX / box.width);
}

/** Report the token under the pointer, and mark it in the text; null when the pointer leaves. */
export function point(
  { pointed }: Session["tokenLook"],
  tokens: TokenSample,
  at: PointerEvent | null,
  drawn: Drawn | null,
): void {
  const plot = at?.currentTarget;
  if (at === null || drawn === null || !(plot instanceof HTMLElement)) {
    pointed.value = null;
    return;
  }
  const token = peakAt(tokens, at, plot.getBoundingClientRect(), drawn);
  const { series } = drawn;
  if (pointed.peek()?.token !== token || pointed.peek()?.series !== series) pointed.value = { token, series };
}
