/** A line at the current step. */

import type uPlot from "uplot";

export function stepLine(ink: string, current: () => number | null): (plot: uPlot) => void {
  return (plot) => {
    const at = current();
    if (at === null) return;
    const x = Math.round(plot.valToPos(at, "x", true)) + 0.5;
    const { left, top, width, height } = plot.bbox;
    if (x < left - 1 || x > left + width + 1) return;
    plot.ctx.save();
    plot.ctx.strokeStyle = ink;
    plot.ctx.setLineDash([]); // a dashed line before this leaves its dashes set
    plot.ctx.lineWidth = devicePixelRatio;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
    plot.ctx.restore();
  };
}
