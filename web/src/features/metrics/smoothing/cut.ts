/** The points of a curve in a range of x, decimated as by the server. */

import type { CurveData } from "../../../api/types.gen";
import { placeOf } from "../../../lib/numbers/curves";
import { placesOf } from "../../../lib/numbers/decimation";
import type { Range } from "../../charts";
import { type AllPoints, arrayOf, meansOf } from "./average";

interface Cut {
  key: string;
  places: readonly number[];
  data: CurveData;
}

const known = new WeakMap<AllPoints, Cut>();

/** The cut curve with its average over a span; returns the same arrays of steps and values for the same range. */
export function cutOf(points: AllPoints, range: Range | null, most: number, spanSteps: number): CurveData {
  const key = `${range?.join(" ")} ${most}`;
  const before = known.get(points);
  const { data, places } = before?.key === key ? before : made(points, range, most, key);
  const means = meansOf(points, spanSteps);
  return { ...data, smooth: places.map((place) => means[place] ?? NaN) };
}

function made(points: AllPoints, range: Range | null, most: number, key: string): Cut {
  const { data, values: all } = points;
  const { steps } = data;
  const [first, stop] = range === null ? [0, steps.length] : placesBetween(steps, range);
  const values = all.subarray(first, stop);
  const [spread, low, high] = [data.spread, data.low, data.high].map((of) => of && arrayOf(of.slice(first, stop)));
  const edge = (sign: 1 | -1): Float64Array => values.map((value, i) => value + sign * (spread?.[i] ?? 0));
  const band = low && high ? ([low, high] as const) : spread ? ([edge(-1), edge(1)] as const) : null;
  const places = placesOf(values, most, band).map((at) => at + first);
  const at = <T>(array: readonly T[]): T[] => places.map((place) => array[place] as T);
  const cut = {
    key,
    places,
    data: {
      ...data,
      steps: at(data.steps),
      values: at(data.values),
      spread: data.spread && at(data.spread),
      low: data.low && at(data.low),
      high: data.high && at(data.high),
      with_value: data.with_value && at(data.with_value),
      samples: data.samples && at(data.samples),
      points: stop - first,
    },
  };
  known.set(points, cut);
  return cut;
}

/** The indices of the points in a range, and of their neighbours on both sides. */
function placesBetween(steps: readonly number[], [from, to]: Range): [number, number] {
  const [first, stop] = [placeOf(steps, from), placeOf(steps, to)];
  return [Math.max(0, first - 1), Math.min(steps.length, stop + (steps[stop] === to ? 2 : 1))];
}
