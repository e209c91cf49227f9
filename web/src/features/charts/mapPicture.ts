/** Saves a distribution by step as a picture: its cells as drawn, with title and axes. */

import type { DistributionReply } from "../../api/types.gen";
import { labelOf } from "../../lib/charts/across";
import { type Picture, pictureOf, type Shape } from "../../lib/charts/picture";
import { shadeOf, shareAt } from "../../lib/distribution/heatMap";
import { tickOf, ticksOf } from "./axis";
import { inkReader } from "./chartPicture";
import { inksOf } from "./inks";

export interface MapCharted {
  title: string;
  note: string;
  map: DistributionReply;
  /** The number of the run's colour. */
  colour: number;
}

/** More shades look alike, and each costs a shape. */
const SHADES = 24;
const MOST_LABELS = 7;

/** The picture of a map, in the colours that the theme gives to `element`. */
export function pictureOfMap(element: HTMLElement, { title, note, map, colour }: MapCharted): Picture {
  const { edges, counts, first_steps: firsts } = map;
  const inks = inksOf(element, colour, [], 1);
  const ink = inkReader();
  const [bottom, top] = [edges[0] ?? 0, edges.at(-1) ?? 1];
  const by = Math.max(1, Math.ceil(counts.length / MOST_LABELS));
  const picture = pictureOf({
    title,
    note,
    across: "step",
    xs: [],
    lines: [],
    bands: [],
    x: {
      low: 0,
      high: Math.max(1, counts.length),
      isLog: false,
      ticks: firsts.flatMap((step, i) => (i % by === 0 ? [{ at: i + 0.5, text: labelOf("step", step) }] : [])),
    },
    y: {
      low: bottom,
      high: top > bottom ? top : bottom + 1,
      isLog: false,
      ticks: ticksOf(bottom, top, false)
        .filter((tick) => tick >= bottom && tick <= top)
        .map((at) => ({ at, text: tickOf(at, 0) })),
    },
    legend: [],
    inks: { page: ink(inks.page), strong: ink(inks.strong), label: ink(inks.label), grid: ink(inks.grid) },
  });
  const [page, ...rest] = picture.shapes;
  const { hex } = ink(inks.line);
  return { ...picture, shapes: [...(page === undefined ? [] : [page]), ...rest, ...cellsOf(map, picture.plot, hex)] };
}

/** The cells: one shape for each shade. */
function cellsOf(map: DistributionReply, [left, top, width, height]: Picture["plot"], hex: string): Shape[] {
  const bins = map.edges.length - 1;
  const [across, up] = [width / Math.max(1, map.counts.length), height / Math.max(1, bins)];
  const paths = new Map<number, string>();
  map.counts.forEach((own, column) =>
    own.forEach((samples, bin) => {
      if (samples === 0) return;
      const shade = Math.ceil(shadeOf(shareAt(map, { column, bin })) * SHADES);
      const [x, y] = [left + column * across, top + height - (bin + 1) * up];
      const cell = `M${x.toFixed(2)} ${y.toFixed(2)}h${across.toFixed(2)}v${up.toFixed(2)}h-${across.toFixed(2)}Z`;
      paths.set(shade, `${paths.get(shade) ?? ""}${cell}`);
    }),
  );
  return [...paths].map(([shade, path]) => ({ path, ink: { hex, opacity: shade / SHADES }, width: 0, isInside: true }));
}
