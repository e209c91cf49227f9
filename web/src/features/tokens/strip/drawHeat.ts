/** Draws rows of levels into a canvas, in the colours of the theme. */

import { LEVELS, NO_LEVEL } from "../../../lib/tokens/scale";
import type { HeatRow } from "../../../lib/tokens/strip/heat";
import { contextOf, inksOf } from "./inks";

export const ROW_PX = 13;
const GAP_PX = 3;
/** What stands out a little can be seen. */
const FAINTEST = 0.12;

export function drawHeat(canvas: HTMLCanvasElement, rows: readonly HeatRow[]): void {
  const [context, parent] = [contextOf(canvas), canvas.parentElement];
  if (context === null || parent === null) return;
  const ink = inksOf(parent);
  for (const [place, { levels, isTwoSided }] of rows.entries()) {
    const cell = canvas.clientWidth / levels.length;
    for (const [at, level] of levels.entries()) {
      if (level === NO_LEVEL) continue;
      const strength = Math.abs(level) / LEVELS;
      context.globalAlpha = level === 0 ? 1 : FAINTEST + (1 - FAINTEST) * strength;
      context.fillStyle = ink(
        level === 0 ? "--line-1" : !isTwoSided ? "--seq-full" : level < 0 ? "--div-neg" : "--div-pos",
      );
      const [left, right] = [Math.floor(at * cell), Math.floor((at + 1) * cell)];
      const gap = cell > 3 ? 1 : 0;
      // Cells without a tint are a line, so that a row is seen where it has values.
      if (level === 0) context.fillRect(left, place * ROW_PX + (ROW_PX - GAP_PX) / 2 - 0.5, right - left, 1);
      else context.fillRect(left, place * ROW_PX, right - left - gap, ROW_PX - GAP_PX);
    }
  }
}
