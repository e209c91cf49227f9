/** The lines of further curves: each walks its own points alone, not the rows of all. */

import uPlot from "uplot";
import { lonely } from "../../../lib/numbers/curves";
import { hasRaw } from "../curvesOf";
import type { Inks } from "../inks";

/** The rows of the points of a further curve, in ascending order. */
export type RowsOf = (other: number) => readonly number[];

/** The firm lines of further curves: series from `first` on. */
export const furtherPaths =
  (first: number, rowsOf: RowsOf): uPlot.Series.PathBuilder =>
  (plot, series) => ({ stroke: pathOf(plot, series, rowsOf(series - first)), fill: null });

/** Their points without a line. */
export const furtherAlone =
  (first: number, rowsOf: RowsOf) =>
  (plot: uPlot, series: number): number[] | null => {
    const rows = rowsOf(series - first);
    const values = plot.data[series] ?? [];
    const places = lonely(rows.map((row) => values[row]));
    return places.length === 0 ? null : places.map((place) => rows[place] ?? 0);
  };

/** Draws the raw lines of few further curves, the last series, before any firm line. */
export function rawLines({ faints, others }: Inks, rowsOf: RowsOf): (plot: uPlot) => void {
  return (plot) => {
    if (!hasRaw(others)) return;
    clipped(plot, 1, (ctx) => {
      faints.forEach((ink, i) => {
        ctx.strokeStyle = ink;
        ctx.stroke(pathOf(plot, plot.data.length - faints.length + i, rowsOf(i)));
      });
    });
  };
}

/** Draw whole lines of a width within the axes. */
export function clipped({ ctx, bbox }: uPlot, px: number, draw: (ctx: CanvasRenderingContext2D) => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.setLineDash([]);
  ctx.lineWidth = px * devicePixelRatio;
  draw(ctx);
  ctx.restore();
}

/** The line through the values of a series at these rows. */
export function pathOf(plot: uPlot, series: number, rows: readonly number[]): Path2D {
  const path = new Path2D();
  const [toX, toY] = [placing(plot, "x"), placing(plot, "y")];
  const [xs] = plot.data;
  const values = plot.data[series] ?? [];
  let isDown = false;
  for (const row of rows) {
    const value = values[row];
    if (typeof value !== "number") isDown = false;
    else {
      path[isDown ? "lineTo" : "moveTo"](toX(xs[row] ?? NaN), toY(value));
      isDown = true;
    }
  }
  return path;
}

/** The position of a number on the canvas; like `valToPos`, for many numbers. */
function placing(plot: uPlot, key: "x" | "y"): (value: number) => number {
  const { min = 0, max = 1, distr } = plot.scales[key] ?? {};
  const of = distr === 3 ? Math.log10 : (value: number): number => value;
  const [from, to] = [plot.valToPos(min ?? 0, key, true), plot.valToPos(max ?? 1, key, true)];
  const [low, high] = [of(min ?? 0), of(max ?? 1)];
  return (value) => from + ((of(value) - low) / (high - low)) * (to - from);
}
