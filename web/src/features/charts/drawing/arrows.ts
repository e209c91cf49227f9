/** An arrow at the edge of a chart for each point beyond it. */

import type uPlot from "uplot";
import type { Beyond } from "../edge/fit";
import type { Inks } from "../inks";

const HEIGHT_PX = 6;

export function arrows({ line, faint, others }: Inks, beyond: () => readonly Beyond[]): (plot: uPlot) => void {
  return ({ ctx, bbox: { left, top, width, height }, valToPos }) => {
    const px = HEIGHT_PX * devicePixelRatio;
    ctx.save();
    for (const { isAbove, places } of beyond()) {
      const [tip, foot] = isAbove ? [top, top + px] : [top + height, top + height - px];
      for (const { x: across, curve, isBand } of places) {
        const x = valToPos(across, "x", true);
        if (!(x >= left - 1 && x <= left + width + 1)) continue;
        ctx.fillStyle = isBand ? faint : ([line, ...others][curve] ?? line);
        ctx.beginPath();
        ctx.moveTo(x, tip);
        ctx.lineTo(x - px * 0.75, foot);
        ctx.lineTo(x + px * 0.75, foot);
        ctx.fill();
      }
    }
    ctx.restore();
  };
}
