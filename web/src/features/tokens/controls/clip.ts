/** Values beyond the ends of a scale, which all have the same tint. */

import { figure, fine } from "../../../lib/numbers/numbers";
import type { TokenScale } from "../../../lib/tokens/scale";

/** Whether values lie below the low end, and above the high end. */
export function clips(ordered: Float64Array, { low, high }: TokenScale): { below: boolean; above: boolean } {
  return { below: (ordered[0] ?? NaN) < low, above: (ordered.at(-1) ?? NaN) > high };
}

/** The scale in words: its ends, the values without a tint, and the values beyond the ends. */
export function clipWords(ordered: Float64Array, scale: TokenScale): string {
  const { low, high, middle, quiet, isDown } = scale;
  if (!(low < high)) return "All values are the same, so that none has a tint.";
  const { below, above } = clips(ordered, scale);
  const [least, most] = [fine(ordered[0] ?? NaN), fine(ordered.at(-1) ?? NaN)];
  const [weak, strong] = isDown ? [above, below] : [below, above];
  const words = [
    middle === null
      ? `The tint grows from ${figure(isDown ? high : low)} to ${figure(isDown ? low : high)}.`
      : `The tint grows from ${figure(middle)} to ${figure(low)} and to ${figure(high)}.`,
    middle === null && weak ? `Values ${isDown ? "above" : "below"} have none.` : "",
    quiet > 0 ? `The three quarters of the values nearest to ${figure(middle)} have none.` : "",
    middle === null
      ? strong
        ? beyond(isDown ? least : most)
        : ""
      : below || above
        ? beyond(`${least} and ${most}`)
        : "",
  ];
  return words.filter((one) => one !== "").join(" ");
}

const beyond = (far: string): string => `The scale clips: values reach ${far}.`;
