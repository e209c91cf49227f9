/**
 * The look of a small chart: three grid lines, quiet axes, a line at the current step. All colours are design tokens.
 */

import uPlot from "uplot";
import { type Across, labelOf, ticksAcross } from "../../lib/charts/across";
import type { Dash } from "../../lib/charts/picture";
import { lonely, WHOLE_STEPS } from "../../lib/numbers/curves";
import { apart, type Range, tickOf, ticksOf } from "./axis";
import { hasRaw } from "./curvesOf";
import { arrows } from "./drawing/arrows";
import { dots } from "./drawing/dots";
import { furtherAlone, furtherPaths, rawLines, type RowsOf } from "./drawing/furtherLines";
import { type Frame, framing } from "./drawing/frame";
import { pointerDots } from "./drawing/pointer";
import { spikes } from "./drawing/spikes";
import { stepLine } from "./drawing/stepLine";
import type { Beyond } from "./edge/fit";
import type { Inks } from "./inks";

/** The usual height of a chart, and the height of the main chart of a page. */
export const HEIGHT_PX = 128;
export const TALL_PX = 260;
/** Lines of a pixel are painted in a sixth of the time of wider ones, whose outlines are filled. */
const [THIN_PX, USUAL_PX, FIRM_PX] = [1, 1.5, 1.75];
/** With more lines, each is thin. */
const FEW_LINES = 12;
/** An edge of a band. */
const EDGE: uPlot.Series = { stroke: "transparent", points: { show: false } };
/** The index of the first further curve among the columns. */
const FURTHER = 5;
/** A column that the page draws itself. */
const OWN: uPlot.Series = { paths: () => null, points: { show: false } };
const AXIS_PX = 48;
/** The second press of a double one comes within this time. */
const DOUBLE_MS = 300;
/** A shorter drag is a press. */
const LEAST_DRAG_PX = 6;
/** Room beside the last step: half of a short label. */
const RIGHT_PX = 12;
const FONT = "10px Inter, ui-sans-serif, system-ui, sans-serif";

interface Given {
  width: number;
  height: number;
  /** The number of digits dropped from the drawn numbers. */
  digits: () => number;
  /** True if the values are shares. */
  isShare: boolean;
  /** The dashes of the other lines. */
  dashes: readonly Dash[];
  /** The indices of overlaid runs with a band. */
  withBand: readonly number[];
  across: Across;
  /** The range of x. */
  range: () => Range;
  /** True if a person drew it. */
  isZoomed: () => boolean;
  /** Called with another range, which a person drew. */
  onZoom: ((range: Range | null) => void) | null;
  inks: Inks;
  /** The x of the current step. */
  current: () => number | null;
  hover: (index: number | null) => void;
  open: (index: number) => void;
  /** True if x is a position, on a logarithmic scale, instead of a step. */
  isByPosition: boolean;
  /** Values on a logarithmic scale; all of them are positive. */
  isLog: boolean;
  /** The ends of the axis of values. */
  ends: (low: number | null, high: number | null) => [number, number];
  rowsOf: RowsOf;
  /** The x of the dots; null for the last values. */
  dotAt: () => number | null;
  /** The points beyond these ends. */
  beyond: () => readonly Beyond[];
  /** Called with what is drawn, whenever that changes. */
  drawn: (frame: Frame) => void;
}

export function optionsOf({
  width,
  height,
  digits,
  isShare,
  dashes,
  withBand,
  across,
  range,
  isZoomed,
  onZoom,
  inks,
  current,
  hover,
  open,
  isByPosition,
  isLog,
  ends,
  rowsOf,
  dotAt,
  beyond,
  drawn,
}: Given): uPlot.Options {
  let roomPx = width;
  const finger = { isLast: false };
  const axis = { stroke: inks.label, font: FONT, ticks: { show: false }, border: { show: false } };
  return {
    width,
    height,
    padding: [8, () => Math.max(RIGHT_PX, Math.ceil(widthOf(labelOf(across, range()[1])) / 2) + 2), 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: pointerDots(inks, FURTHER, withBand.length),
      // A finger leaves no pointer behind: the values that it pressed stay.
      bind: { mouseleave: (_, __, handler) => (event) => (finger.isLast ? null : handler(event)) },
      drag: { x: onZoom !== null, y: false, setScale: false, dist: LEAST_DRAG_PX },
    },
    scales: {
      x: {
        time: false,
        distr: isByPosition ? 3 : 1,
        range: () => apart(...range()),
      },
      y: {
        distr: isLog ? 3 : 1,
        range: (_, low, high) => ends(low, high),
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 22,
        gap: 6,
        incrs: [...WHOLE_STEPS],
        space(_, __, ___, ____, px) {
          roomPx = px;
          return 1;
        },
        splits: (_, __, low, high) => (isByPosition ? powers(high) : within(across, range(), low, high, roomPx)),
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((tick) => labelOf(across, tick)),
      },
      {
        ...axis,
        grid: { stroke: inks.grid, width: 1 },
        size: AXIS_PX,
        gap: 4,
        splits: (_, __, low, high) => ticksOf(low, high, isLog),
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((tick) => tickOf(tick, digits(), isShare)),
      },
    ],
    series: [
      {},
      { stroke: inks.faint, width: THIN_PX, points: { show: false } },
      { stroke: inks.line, width: FIRM_PX, points: { show: false, filter: alone, fill: inks.line, size: 4 } },
      EDGE,
      EDGE,
      ...inks.others.map((stroke, i) => ({
        stroke,
        width: inks.others.length > FEW_LINES ? THIN_PX : USUAL_PX,
        dash: [...(dashes[i] ?? [])],
        paths: furtherPaths(FURTHER, rowsOf),
        points: { show: false, filter: furtherAlone(FURTHER, rowsOf), fill: stroke, size: 4 },
      })),
      ...withBand.flatMap(() => [EDGE, EDGE]),
      ...(hasRaw(inks.others) ? inks.faints : []).map(() => OWN),
    ],
    bands: [
      { series: [3, 4], fill: inks.band },
      ...withBand.map((other, i): uPlot.Band => {
        const first = FURTHER + inks.others.length + 2 * i;
        return { series: [first, first + 1], fill: inks.bands[other] ?? inks.band };
      }),
    ],
    hooks: {
      ready: [
        (plot) => {
          const press = onClick(plot, open, isZoomed, finger);
          for (const name of ["pointerdown", "pointermove"] as const) plot.over.addEventListener(name, press.begin);
          plot.over.addEventListener("click", press.once);
          plot.over.addEventListener("dblclick", () => {
            press.cancel();
            onZoom?.(null);
          });
        },
      ],
      drawClear: [({ ctx }) => void (ctx.textRendering = "geometricPrecision")],
      drawAxes: [plainJoins, rawLines(inks, rowsOf), spikes(inks, rowsOf, isLog)],
      draw: [stepLine(inks.mark, current), arrows(inks, beyond), dots(inks, dotAt), framing(drawn)],
      setCursor: [(plot) => hover(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width: px } = plot.select;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (px > 0) onZoom?.([plot.posToVal(left, "x"), plot.posToVal(left + px, "x")]);
        },
      ],
    },
  };
}

/** Lines so thin look the same with round joins, which take half as long again to paint. */
function plainJoins({ ctx }: uPlot): void {
  ctx.lineJoin = "bevel";
}

/** Points without a line to them: they are drawn as dots; null for none. */
function alone(plot: uPlot, series: number): number[] | null {
  const points = lonely(plot.data[series] ?? []);
  return points.length === 0 ? null : points;
}

/** The labels of x, without overlap. The scale extends beyond a single point. */
function within(across: Across, [from, to]: Range, low: number, high: number, px: number): number[] {
  const [first, last] = [Math.max(low, from), Math.min(high, to)];
  const whole = across === "step" ? [Math.ceil(first), Math.floor(last)] : [first, last];
  const [begin = first, end = last] = whole;
  return ticksAcross(across, { first: begin, last: end, px: ((end - begin) / (high - low)) * px, widthOf });
}

/** 1, 10, 100 and so on. */
function powers(high: number): number[] {
  const most = Math.max(0, Math.floor(Math.log10(high)));
  return Array.from({ length: most + 1 }, (_, power) => 10 ** power);
}

let ruler: CanvasRenderingContext2D | null = null;

/** The width of a label on the axis. */
function widthOf(label: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (ruler === null) return 0;
  ruler.font = FONT;
  ruler.textRendering = "geometricPrecision";
  return ruler.measureText(label).width;
}

/**
 * uPlot passes on clicks in its legend only, so the plot has its own listener, removed with the plot. If a double press
 * has a meaning, a press waits for the second one. A finger cannot point without a press: it reads values, and the
 * value in the title leads to the rollouts.
 */
function onClick(plot: uPlot, open: (index: number) => void, mayDouble: () => boolean, finger: { isLast: boolean }) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    begin(event: PointerEvent): void {
      finger.isLast = event.pointerType === "touch";
    },
    once(event: MouseEvent): void {
      if (finger.isLast) {
        const { left, top } = plot.over.getBoundingClientRect();
        plot.setCursor({ left: event.clientX - left, top: event.clientY - top });
        return;
      }
      const index = plot.posToIdx(event.clientX - plot.over.getBoundingClientRect().left);
      clearTimeout(timer);
      if (mayDouble()) timer = setTimeout(() => open(index), DOUBLE_MS);
      else open(index);
    },
    cancel: () => clearTimeout(timer),
  };
}
