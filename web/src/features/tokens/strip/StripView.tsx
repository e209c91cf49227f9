/** The current series along the position: a press goes to a token, a drag selects a range. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { peakNear, tokenAtPlace } from "../../../lib/tokens/strip";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Session } from "../../../state/session";
import { useAfterFrame } from "../../../ui/hooks/useAfterFrame";
import { useScheme } from "../../../ui/hooks/useScheme";
import { words } from "../card/words";
import { TAKEN_OUT } from "../update/updatePaint";
import { drawStrip } from "./drawStrip";
import style from "./Strip.module.css";

/** A shorter way is a press. */
const DRAG_PX = 4;
/** A press means the peak within so many pixels. */
const REACH_PX = 3;
/** The share of the tokens that an arrow key moves by. */
const STEP = 1 / 200;

export function StripView({ tokens }: { tokens: TokenSample }) {
  const session = useSession();
  const { tokenLook: look } = session;
  const { first } = tokens;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const scheme = useScheme();
  const drawn = look.drawn.value;
  const flags = useComputed(() => flagsOf(session)).value;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useAfterFrame(() => {
    if (canvas.current === null || drawn === null) return;
    const { series, scale } = drawn;
    const own = flags.map((of) => of.subarray(first));
    const values = series.values.subarray(first);
    drawStrip(canvas.current, { values, trained: tokens.trained.subarray(first), scale, flags: own });
  }, [tokens, drawn, flags, width, scheme]);
  if (drawn === null) return null;
  const { series } = drawn;
  const at = look.chosen.value;
  return (
    <div class={style["strip"]}>
      <div
        class={style["plot"]}
        role="slider"
        tabIndex={0}
        aria-label={`${harmless(series.title)} by position`}
        aria-valuemin={first}
        aria-valuemax={tokens.count - 1}
        aria-valuenow={at ?? first}
        aria-valuetext={at === null ? "no token" : words(session, tokens, at)}
        title="Press to go to a token, drag to select a range"
        onPointerDown={(event) => press(session, tokens, event)}
        onKeyDown={(event) => {
          if (byKey(session, tokens, event)) event.preventDefault();
        }}
      >
        <canvas ref={canvas} />
        <Range tokens={tokens} session={session} />
        {at !== null && <i class={style["here"]} style={{ left: `${percentOf(tokens, at + 0.5)}%` }} />}
      </div>
      <p class={style["words"]}>
        <span>{figure(first)}</span>
        <span>{selection(look.range.value, harmless(series.title))}</span>
        <span>token {figure(tokens.count - 1)}</span>
      </p>
      {tokens.padding !== "" && <p class={style["padding"]}>{tokens.padding}</p>}
    </div>
  );
}

/** The tokens that are marked: those that each chosen rule takes out. */
function flagsOf({ place, tokenMasks: masks, tokenUpdate: update }: Session): readonly Uint8Array[] {
  if (place.field.tokensAs.value !== "update") return masks.chosen.value.map((mask) => mask.flags);
  const first = update.first.value;
  return first === null ? [] : [Uint8Array.from(first.effects, (effect) => (effect === TAKEN_OUT ? 1 : 0))];
}

function selection(range: { from: number; stop: number } | null, title: string): string {
  if (range === null) return `${title} by position · drag to select`;
  return `tokens ${figure(range.from)} to ${figure(range.stop - 1)} · Esc selects all`;
}

/** How far from the left a place among the tokens is. */
const percentOf = ({ first, count }: TokenSample, token: number): number => (100 * (token - first)) / (count - first);

function Range({ tokens, session: { tokenLook: look } }: { tokens: TokenSample; session: Session }) {
  const range = look.range.value;
  if (range === null) return null;
  const [left, right] = [percentOf(tokens, range.from), percentOf(tokens, range.stop)];
  return <i class={style["range"]} style={{ left: `${left}%`, width: `${right - left}%` }} />;
}

/** Follow a press until it ends. */
function press({ tokenLook: look }: Session, tokens: TokenSample, event: PointerEvent): void {
  const plot = event.currentTarget;
  if (!(plot instanceof HTMLElement) || event.button !== 0) return;
  plot.setPointerCapture(event.pointerId);
  const box = plot.getBoundingClientRect();
  const { first, count, trained } = tokens;
  const place = (at: PointerEvent): number => (at.clientX - box.left) / box.width;
  const tokenAt = (at: PointerEvent): number => first + tokenAtPlace(place(at), count - first);
  const isDrag = (at: PointerEvent): boolean => Math.abs(at.clientX - event.clientX) >= DRAG_PX;
  const move = (at: PointerEvent): void => {
    if (isDrag(at)) look.select(tokenAt(event), tokenAt(at));
  };
  const end = (at: PointerEvent): void => {
    plot.removeEventListener("pointermove", move);
    plot.removeEventListener("pointerup", end);
    plot.removeEventListener("pointercancel", end);
    if (at.type === "pointercancel") return;
    const drawn = look.drawn.peek();
    if (isDrag(at)) look.target.value = { token: look.range.peek()?.from ?? first };
    else if (drawn !== null) {
      const values = drawn.series.values.subarray(first);
      look.goTo(first + peakNear(values, trained.subarray(first), drawn.scale, place(at), REACH_PX / box.width));
    }
  };
  plot.addEventListener("pointermove", move);
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
}

/** Move the current token, or with Shift the end of the range. False for another key. */
function byKey({ tokenLook: look }: Session, tokens: TokenSample, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  if (event.key === "Escape" && look.range.peek() !== null) {
    look.range.value = null;
    return true;
  }
  const last = tokens.count - 1;
  const here = look.current.peek()?.token ?? tokens.first;
  const step = Math.max(1, Math.round((tokens.count - tokens.first) * STEP));
  const ways: Readonly<Record<string, number>> = {
    ArrowLeft: here - step,
    ArrowDown: here - step,
    ArrowRight: here + step,
    ArrowUp: here + step,
    Home: tokens.first,
    End: last,
  };
  const to = ways[event.key];
  if (to === undefined) return false;
  const token = Math.max(tokens.first, Math.min(last, to));
  if (event.shiftKey) look.extend(here, token);
  look.current.value = { token, by: "keys" };
  look.target.value = { token };
  return true;
}
