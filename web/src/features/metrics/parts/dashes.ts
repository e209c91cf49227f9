/** Dashes for lines that lie on top of each other: the lower line shows through the gaps of the upper one. */

import type { Dash } from "../../../lib/charts/picture";
import { extent } from "../../../lib/numbers/curves";
import { finite } from "../../../lib/numbers/numbers";
import type { Curve } from "../../charts";

/** Each dash covers half of the visible part of the line below. */
const DASHES: readonly Dash[] = [[], [8, 8], [4, 12], [2, 14]];
/** Values closer than this share of the chart's height, about a pixel, count as equal. */
const CLOSE = 0.01;
/** Lines that meet at fewer of their steps look separate. */
const MOST_APART = 0.5;

/** The dash of each curve, in drawing order; most are solid. */
export function dashesOf(curves: readonly (Curve | null)[]): readonly Dash[] {
  const values = curves.map((curve) => new Map(curve?.steps.map((step, i) => [step, finite(curve.smooth[i])])));
  const [low, high] = extent(values.flatMap((one) => [...one.values()])) ?? [0, 0];
  const depths: number[] = [];
  for (const [i, one] of values.entries()) {
    const below = depths.filter((_, other) => isOn(one, values[other] ?? one, CLOSE * (high - low)));
    depths[i] = below.length === 0 ? 0 : Math.max(...below) + 1;
  }
  return depths.map((depth) => DASHES[Math.min(depth, DASHES.length - 1)] ?? []);
}

type Values = ReadonlyMap<number, number | null>;

function isOn(one: Values, other: Values, close: number): boolean {
  const gaps = [...one].flatMap(([step, value]) => {
    const under = other.get(step) ?? null;
    return value === null || under === null ? [] : [Math.abs(value - under)];
  });
  return gaps.length > 0 && gaps.filter((gap) => gap <= close).length >= MOST_APART * gaps.length;
}
