/** A dot at the last value of each line, which the title or the legend has as a number. */

import type uPlot from "uplot";
import { hasRaw } from "../curvesOf";
import type { Inks } from "../inks";

const RADIUS_PX = 3;

/** The dots at x = `at`, else at the last values; none if there are many lines. */
export function dots({ line, page, others }: Inks, at: () => number | null): (plot: uPlot) => void {
  return (plot) => {
    if (!hasRaw(others)) return;
    const raw = plot.data.length - others.length;
    [line, ...others].forEach((ink, i) => dot(plot, plot.data[i === 0 ? 1 : raw + i - 1] ?? [], at(), [ink, page]));
  };
}

type Values = ArrayLike<number | null | undefined>;

/** The index of the last value, or of the value at an x; -1 without one. */
export const placeOfDot = (values: Values, xs: ArrayLike<number>, across: number | null): number =>
  Array.from(values).findLastIndex((one, i) => typeof one === "number" && (across === null || xs[i] === across));

function dot(plot: uPlot, values: Values, across: number | null, [ink, page]: [string, string]): void {
  const [xs] = plot.data;
  const at = placeOfDot(values, xs, across);
  const value = values[at];
  if (typeof value !== "number") return;
  const [x, y] = [plot.valToPos(plot.data[0][at] ?? NaN, "x", true), plot.valToPos(value, "y", true)];
  const { left, top, width, height } = plot.bbox;
  if (!(x >= left - 1 && x <= left + width + 1 && y >= top && y <= top + height)) return;
  plot.ctx.save();
  plot.ctx.fillStyle = ink;
  plot.ctx.strokeStyle = page;
  plot.ctx.setLineDash([]);
  plot.ctx.lineWidth = devicePixelRatio;
  plot.ctx.beginPath();
  plot.ctx.arc(x, y, RADIUS_PX * devicePixelRatio, 0, 2 * Math.PI);
  plot.ctx.fill();
  plot.ctx.stroke();
  plot.ctx.restore();
}
