/** Draws rows of levels into a canvas, in the colours of the theme. */

import { alphaOf, hueOf, NO_LEVEL } from "../../../lib/tokens/scale";
import type { HeatRow } from "../../../lib/tokens/strip/heat";
import { contextOf, inksOf } from "./inks";

export const ROW_PX = 13;
const GAP_PX = 3;

/** The delay, after which the text and its colours are on the screen. */
const LATER_MS = 100;

/** Draw one row after another, each in its own task, after a delay; returns a function that stops this. */
export function drawHeat(canvas: HTMLCanvasElement, rows: readonly (() => HeatRow)[]): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    const [context, parent] = [contextOf(canvas), canvas.parentElement];
    if (context === null || parent === null) return;
    const ink = inksOf(parent);
    const drawFrom = (place: number): void => {
      const row = rows[place];
      if (row === undefined) return;
      drawRow(context, ink, row(), { top: place * ROW_PX, width: canvas.clientWidth });
      timer = setTimeout(() => drawFrom(place + 1));
    };
    drawFrom(0);
  };
  timer = setTimeout(begin, LATER_MS);
  return () => clearTimeout(timer);
}

function drawRow(
  context: CanvasRenderingContext2D,
  ink: ReturnType<typeof inksOf>,
  { levels, isTwoSided }: HeatRow,
  { top, width }: { top: number; width: number },
): void {
  const cell = width / levels.length;
  const gap = cell > 3 ? 1 : 0;
  for (const [at, level] of levels.entries()) {
    if (level === NO_LEVEL) continue;
    const [left, right] = [Math.floor(at * cell), Math.floor((at + 1) * cell)];
    context.globalAlpha = level === 0 ? 1 : alphaOf(level);
    context.fillStyle = ink(level === 0 ? "--line-1" : hueOf(level, isTwoSided));
    // Cells without a tint get a line, which shows where a row has values.
    if (level === 0) context.fillRect(left, top + (ROW_PX - GAP_PX) / 2 - 0.5, right - left, 1);
    else context.fillRect(left, top, right - left - gap, ROW_PX - GAP_PX);
  }
}
