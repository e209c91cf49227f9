/** The moving average of the shown points of a curve: of all its points, as the server computes it. */

import type { CurveData, CurveRecord } from "../../../api/types.gen";
import { smoothed } from "../../../lib/numbers/curves";
import { finite } from "../../../lib/numbers/numbers";
import type { Curve } from "../../charts";

/** Every point of a curve, in ascending order of step. */
export interface AllPoints {
  steps: readonly number[];
  values: readonly (number | null)[];
}

/** The points of an answer; null if the server left some out. */
export const pointsIn = ({ steps, values, points, without_x }: CurveData): AllPoints | null =>
  steps.length === points && without_x === 0 ? { steps, values: values.map(finite) } : null;

/** What asks for every point of a curve. */
export const wholeOf = (record: CurveRecord): CurveRecord => ({
  ...record,
  x: null,
  options:
    record.options === null
      ? null
      : { ...record.options, smooth: 0, spread: false, band: "", x_min: null, x_max: null },
});

/** The curve with an average over another span; null if one of its steps is not among all points. */
export function averaged(curve: Curve, { steps, values }: AllPoints, spanSteps: number): Curve | null {
  const means = spanSteps === 0 ? values : smoothed(steps, values, spanSteps);
  let at = -1;
  const smooth = curve.steps.map((step) => {
    at = steps.indexOf(step, at + 1);
    return at < 0 ? undefined : means[at];
  });
  return smooth.every((mean) => mean !== undefined) ? { ...curve, smooth } : null;
}
