/**
 * Draws the raw line more firmly at points far from their average: the average flattens a spike, and a faint line is
 * overlooked. It stays thinner and paler than the average, which would otherwise seem to jump there.
 */

import type uPlot from "uplot";
import { hasRaw } from "../curvesOf";
import type { Inks } from "../inks";
import { clipped, pathOf, type RowsOf } from "./furtherLines";

type Values = ArrayLike<number | null | undefined>;

/** As a multiple of the mean distance of values from their average: noise stays below. */
const FAR = 5;
/** As a share of the height of the chart: a lower spike is not visible. */
const LEAST_HEIGHT = 0.15;
const WIDTH_PX = 1;
const OPACITY = 0.5;

/** The rows of the spikes, in pieces, each with the row before and the row after it. */
export function spikesOf(raw: Values, smooth: Values, rows: readonly number[], height: number): number[][] {
  const distances = rows.map((row) => Math.abs((raw[row] ?? NaN) - (smooth[row] ?? NaN)));
  const known = distances.filter((one) => !Number.isNaN(one));
  const mean = known.reduce((sum, one) => sum + one, 0) / known.length;
  const least = Math.max(FAR * mean, LEAST_HEIGHT * height);
  const isIn = (at: number): boolean => [-1, 0, 1].some((by) => (distances[at + by] ?? 0) > least);
  const pieces: number[][] = [];
  for (const [at, row] of rows.entries()) {
    if (!isIn(at)) continue;
    if (at > 0 && isIn(at - 1)) pieces.at(-1)?.push(row);
    else pieces.push([row]);
  }
  return pieces;
}

/** Draws them below the firm lines, like the raw lines. On a logarithmic scale an average hides less. */
export function spikes({ line, others }: Inks, rowsOf: RowsOf, isLog: boolean): (plot: uPlot) => void {
  return (plot) => {
    if (isLog || !hasRaw(others)) return;
    const { data } = plot;
    const height = (plot.scales["y"]?.max ?? 0) - (plot.scales["y"]?.min ?? 0);
    clipped(plot, WIDTH_PX, (ctx) => {
      ctx.globalAlpha = OPACITY;
      [line, ...others].forEach((ink, i) => {
        const raw = i === 0 ? 1 : data.length - others.length + i - 1;
        const [values, smooth] = [data[raw] ?? [], data[i === 0 ? 2 : 4 + i] ?? []];
        // The rows of other runs are undefined.
        const rows =
          i > 0 ? rowsOf(i - 1) : Array.from(values, (_, row) => row).filter((row) => values[row] !== undefined);
        ctx.strokeStyle = ink;
        for (const piece of spikesOf(values, smooth, rows, height)) ctx.stroke(pathOf(plot, raw, piece));
      });
    });
  };
}
