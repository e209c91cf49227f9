/** x of a chart: the step, the time since the beginning, or another number. */

import { inLittleRoom } from "./littleRoom";
import { figure, placeBetween } from "../numbers/numbers";
import { roundTicks, stepTicks } from "../numbers/ticks";
import { chartOf } from "./chart";

export type Across = "step" | "time" | "number";

/** The text for the step, if a chart differs from its page. */
export const STEP = "step";

/** The x that the text of a chart or a page names. */
export function acrossOf(x: string): Across {
  if (x === "") return "step";
  return chartOf(x)?.kind === "elapsed" ? "time" : "number";
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The allowed distances between ticks of time. */
const SPANS = [
  [1, 2, 5, 10, 15, 30],
  [1, 2, 5, 10, 15, 30].map((one) => one * MINUTE),
  [1, 2, 3, 6, 12].map((one) => one * HOUR),
  [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((one) => one * DAY),
].flat();
const UNITS: readonly (readonly [number, string])[] = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "min"],
  [1, "s"],
];
/** Labels closer than this would overlap. */
const GAP_PX = 10;
const LEAST_PX = 44;

/** A span of time in its two largest units: `1 h 30 min`. */
export function spanOfTime(seconds: number): string {
  if (Math.abs(seconds) < 1) return seconds === 0 ? "0 s" : `${Number(seconds.toPrecision(2))} s`;
  const sign = seconds < 0 ? "−" : "";
  let rest = Math.round(Math.abs(seconds));
  const at = UNITS.findIndex(([length]) => rest >= length);
  const words = UNITS.slice(at, at + 2).flatMap(([length, unit]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return `${sign}${words.join(" ")}`;
}

/** A step with all its digits if they fit; else a short form of a round step, or the last six digits. */
function stepLabel(step: number): string {
  if (Math.abs(step) < 1e6) return String(step);
  if (Math.abs(step) < 1e9) return figure(step);
  if (Number(step.toPrecision(5)) === step) return inLittleRoom(step);
  return `…${figure(1e6 + (Math.abs(step) % 1e6)).slice(2)}`;
}

/** A short number on the axis. */
export function labelOf(across: Across, value: number): string {
  if (across === "step") return stepLabel(Math.round(value));
  return across === "time" ? spanOfTime(value) : inLittleRoom(value);
}

interface Given {
  first: number;
  last: number;
  /** Their distance on the screen. */
  px: number;
  widthOf: (label: string) => number;
}

/** The labelled numbers of an axis, as many as fit. */
export function ticksAcross(across: Across, { first, last, px, widthOf }: Given): number[] {
  const width = (value: number): number => widthOf(labelOf(across, value));
  if (across === "step") return stepTicks({ first, last, px, widthOf: width });
  if (!(last > first)) return [first];
  if (across === "number") return apart(roundTicks(first, last), { first, last, px }, width);
  const room = Math.max(LEAST_PX, width(last) + GAP_PX);
  const by = SPANS.find((one) => (one / (last - first)) * px >= room) ?? Infinity;
  const from = Math.ceil(first / by);
  const ticks = Array.from({ length: Math.max(0, Math.floor(last / by) - from + 1) }, (_, i) => (from + i) * by);
  return apart(ticks.length > 1 ? ticks : [first, last], { first, last, px }, width);
}

/** The ticks in the range whose labels do not overlap, in ascending order. */
function apart(
  ticks: readonly number[],
  { first, last, px }: Omit<Given, "widthOf">,
  width: (value: number) => number,
): number[] {
  let end = -Infinity;
  return ticks.filter((tick) => {
    if (!(tick >= first && tick <= last)) return false;
    const middle = placeBetween(tick, first, last) * px;
    const half = width(tick) / 2;
    if (middle - half < end) return false;
    end = middle + half + GAP_PX;
    return true;
  });
}
