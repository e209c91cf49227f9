/** The plot of a chart and its ranges, for elements around it. */

import uPlot from "uplot";

export interface Frame {
  /** The plot, from the left of the chart. */
  left: number;
  width: number;
  /** The range of x. */
  low: number;
  high: number;
  /** The axis of values. */
  bottom: number;
  top: number;
}

/** Calls `tell` with the frame of a plot whenever it changes. */
export function framing(tell: (frame: Frame) => void): (plot: uPlot) => void {
  let last = "";
  return ({ bbox, scales }) => {
    const frame = {
      left: bbox.left / uPlot.pxRatio,
      width: bbox.width / uPlot.pxRatio,
      low: scales["x"]?.min ?? 0,
      high: scales["x"]?.max ?? 0,
      bottom: scales["y"]?.min ?? 0,
      top: scales["y"]?.max ?? 0,
    };
    const now = JSON.stringify(frame);
    if (now !== last) tell(frame);
    last = now;
  };
}
