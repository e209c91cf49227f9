/** The moving average at the shown points of a curve, computed over all its points, as on the server. */

import type { CurveData, CurveQuery, WireNumber } from "../../../api/types.gen";
import { spanFor } from "../../../lib/charts/chart";
import { averages, placeOf } from "../../../lib/numbers/curves";
import { toNumber } from "../../../lib/numbers/numbers";
import type { Curve } from "../../charts";

/** Every point of a curve, in ascending order of step. */
export interface AllPoints {
  data: CurveData;
  values: Float64Array;
}

/** The points of an answer; null if the server omitted some. */
export const pointsIn = (data: CurveData): AllPoints | null =>
  data.steps.length === data.points && data.without_x === 0 ? { data, values: arrayOf(data.values) } : null;

/** Numbers off the wire, NaN for none. */
export function arrayOf(values: readonly WireNumber[]): Float64Array {
  const array = new Float64Array(values.length); // calling a function for each point would take several times as long
  for (let at = 0; at < array.length; at += 1) {
    const value = values[at];
    array[at] = typeof value === "number" ? value : (toNumber(value) ?? NaN);
  }
  return array;
}

/** The request for every point of a curve. */
export const wholeOf = (record: CurveQuery): CurveQuery => ({
  ...record,
  x: null,
  options: { ...record.options, smooth: 0, x_min: null, x_max: null },
});

const known = new WeakMap<AllPoints, { span: number; means: Float64Array }>();

/** The average at every point; returns the same array for the same span. */
export function meansOf(points: AllPoints, spanSteps: number): Float64Array {
  const span = spanFor(spanSteps, points.values.length);
  if (span === 0) return points.values;
  const before = known.get(points);
  if (before?.span === span) return before.means;
  const means = averages(points.data.steps, points.values, span);
  known.set(points, { span, means });
  return means;
}

/** The curve with an average over another span; null if `all` lacks one of its steps. */
export function averaged(curve: Curve, points: AllPoints, spanSteps: number): Curve | null {
  const { steps } = points.data;
  const means = meansOf(points, spanSteps);
  const smooth: number[] = [];
  let at = placeOf(steps, curve.steps[0] ?? 0);
  for (const step of curve.steps) {
    while (at < steps.length && steps[at] !== step) at += 1;
    const mean = means[at];
    if (mean === undefined) return null;
    smooth.push(mean);
  }
  return { ...curve, smooth };
}
