/**
 * The dots at the pointer: a filled one at each value, which the page also shows as a number, and a ring at its
 * average.
 */

import type uPlot from "uplot";
import { hasRaw } from "../curvesOf";
import type { Inks } from "../inks";

const [DOT_PX, RING_PX, BORDER_PX] = [7, 9, 1.5];

/**
 * `first` is the index of the first further curve among the series; bands are between the lines and their raw lines.
 */
export function pointerDots({ line, others }: Inks, first: number, bands: number): uPlot.Cursor.Points {
  const raw = first + others.length + 2 * bands;
  const inkAt = (series: number): string => {
    if (series < first) return line;
    return others[series < raw ? series - first : series - raw] ?? line;
  };
  const isValue = (series: number): boolean => series === 1 || series >= raw;
  const isAverage = (series: number): boolean => series === 2 || (series >= first && series < first + others.length);
  // With many curves, only the averages are drawn.
  const isShown = (series: number): boolean =>
    isAverage(series) || (isValue(series) && (series === 1 || hasRaw(others)));
  return {
    size: (_, series) => (isValue(series) ? DOT_PX : RING_PX),
    width: (_, series) => (isValue(series) || !isShown(series) ? 0 : BORDER_PX),
    fill: (_, series) => (isShown(series) && isValue(series) ? inkAt(series) : "transparent"),
    stroke: (_, series) => (isShown(series) ? inkAt(series) : "transparent"),
  };
}
