/** Numbers on an axis. */

import { compact } from "../numbers/compact";
import { figure } from "../numbers/numbers";

/** From here on, thousands of the largest unit would take too much room. */
const POWERS = 1e18;

/** A number on an axis, with five significant digits at most. */
export function inLittleRoom(value: number): string {
  const size = Math.abs(value);
  const text =
    value !== 0 && (size < 0.001 || size >= POWERS)
      ? value.toExponential(1).replace("+", "")
      : size >= 10_000
        ? compact(value, 5)
        : size >= 1000
          ? figure(value)
          : String(Number(value.toPrecision(5)));
  return text.replaceAll("-", "−");
}
