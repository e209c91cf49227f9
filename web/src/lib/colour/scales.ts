/** The colour of a value in a column, from the declared range of the run, else from the values seen. */

import type { ColumnInfo } from "../../api/types.gen";
import { brief, finite, placeBetween } from "../numbers/numbers";

/**
 * `score`: from bad to good; `low` is the worst value and may be the greater one. `signed`: around zero. `size`: one
 * hue, for numbers that are neither good nor bad.
 */
export interface Scale {
  kind: "score" | "signed" | "size" | "none";
  low: number;
  high: number;
}

export const NONE: Scale = { kind: "none", low: 0, high: 1 };

/** Names of rewards and of their parts, such as `reward.format`. */
const REWARDS = /^(ref_|valid_)*rewards?(\b|_)/i;
/** Names of costs: more is not better, even as a part of the reward. */
const COSTS =
  /penalt|repetition|length|(^|[._/])((num_)?(re)?tries|num_(turns|steps|calls|tokens|errors|attempts))($|[._/])/i;
const DIFFERENCES = /(_gap|log_ratio|advantages?)$/i;
const SLACK = 1e-3;

/** True if the run declares that more is better, although the name suggests a cost. */
export const isDoubtful = (name: string, worst: number, best: number): boolean => worst < best && COSTS.test(name);

/** The scale of a column. `groupSize` is how many samples a group has, 0 if unknown. */
export function scaleOf(column: ColumnInfo, groupSize: number): Scale {
  if (column.kind !== "number") return NONE;
  const worst = finite(column.worst);
  const best = finite(column.best);
  if (worst !== null && best !== null && worst !== best)
    return { kind: isDoubtful(column.name, worst, best) ? "size" : "score", low: worst, high: best };
  const low = finite(column.low);
  const high = finite(column.high);
  if (low === null || high === null) return NONE;
  if (column.name === "advantage") return signed(advantageEnd(Math.max(Math.abs(low), Math.abs(high)), groupSize));
  if (DIFFERENCES.test(column.name)) return signed(Math.max(Math.abs(low), Math.abs(high)));
  if (REWARDS.test(column.name) && !COSTS.test(column.name)) return { kind: "score", ...rangeOf(low, high) };
  // A single value is neither small nor large: it has the middle of the hue.
  if (low === high && low >= 0) return { kind: "size", low: 0, high: 2 * high || 1 };
  return { kind: "size", low: Math.min(0, low), high };
}

/**
 * Advantages divided by the deviation of their group reach at most sqrt(G - 1), and exceed 1 somewhere. If the greatest
 * value seen is outside these bounds, they were not divided, and that value is the end.
 */
function advantageEnd(seen: number, groupSize: number): number {
  const most = Math.sqrt(Math.max(0, groupSize - 1));
  return seen > 1 + SLACK && seen <= most + SLACK ? most : seen;
}

function signed(end: number): Scale {
  return { kind: "signed", low: -end, high: end };
}

/** Place from 0 (low) to 1 (high); null if that has no meaning. */
export function placeIn(scale: Scale, value: number | null): number | null {
  if (value === null || Number.isNaN(value) || scale.kind === "none") return null;
  if (scale.low === scale.high) return scale.kind === "score" ? (value >= scale.high ? 1 : 0) : 0.5;
  return Math.min(1, Math.max(0, placeBetween(value, scale.low, scale.high)));
}

/** The colour of a cell; null if it has none. */
export function cellColour(scale: Scale, value: number | null): string | null {
  const at = placeIn(scale, value);
  if (at === null) return null;
  if (scale.kind === "score") return colour(at);
  if (scale.kind === "size") return mixed("seq-full", 0.12 + 0.88 * at);
  return at < 0.5 ? mixed("div-neg", 1 - 2 * at) : mixed("div-pos", 2 * at - 1);
}

/** The ends of a scale, in few characters; only one end if the scale is symmetric. */
export function endsOf({ kind, low, high }: Scale): readonly string[] {
  if (kind === "none") return [];
  return kind === "signed" ? [`±${brief(high)}`] : [brief(low), brief(high)];
}

/** The colours of a scale from its beginning to its end, as an image. */
export function ramp(of: Scale): string {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((at) => cellColour(of, of.low + at * (of.high - of.low)) ?? "transparent");
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function mixed(name: string, part: number): string {
  // In oklab: in oklch the way to grey passes through other hues, and low values would look green.
  return `color-mix(in oklab, var(--${name}) ${Math.round(part * 100)}%, var(--line-1))`;
}

/** The ink of a number, if it is good or bad, or on one side of zero. */
export function inkOf(scale: Scale, value: number | null): string | undefined {
  const at = placeIn(scale, value);
  if (at === null) return undefined;
  if (scale.kind === "score") return `var(--reward-ink-${stop(at)})`;
  if (scale.kind === "signed" && value !== null && value !== 0)
    return `var(--advantage-ink-${value > 0 ? "pos" : "neg"})`;
  return undefined;
}

export interface Range {
  low: number;
  high: number;
}

/** The range of colours for rewards seen so far: the usual ones if they hold all rewards, else the observed ones. */
export function rangeOf(low: number, high: number): Range {
  if (low >= 0 && high <= 1) return { low: 0, high: 1 };
  if (low >= -1 && high <= 1) return { low: -1, high: 1 };
  return { low, high };
}

/** Place in a range, from 0 to 1; null if that has no meaning. */
export function share(value: number | null, range: Range): number | null {
  if (value === null || Number.isNaN(value)) return null;
  if (range.high <= range.low) return value >= range.high ? 1 : 0;
  return Math.min(1, Math.max(0, placeBetween(value, range.low, range.high)));
}

/** Place of a value between the worst and the best value. */
export function shareOf(value: number | null, worst: number, best: number): number | null {
  if (worst <= best) return share(value, { low: worst, high: best });
  const place = share(value, { low: best, high: worst });
  return place === null ? null : 1 - place;
}

/** The stop of the scale that is nearest: 0 (low) to 4 (high). */
export function stop(place: number): number {
  return Math.round(place * 4);
}

/** The colour at a place of the scale, between its stops. */
export function colour(place: number): string {
  const below = Math.min(3, Math.floor(place * 4));
  const part = Math.round((place * 4 - below) * 100);
  return `color-mix(in oklch, var(--reward-${below + 1}) ${part}%, var(--reward-${below}))`;
}
