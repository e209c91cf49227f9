/**
 * The look of a small chart: three grid lines, quiet axes, a line at the current step. All colours are design tokens.
 */

import uPlot from "uplot";
import { lonely, WHOLE_STEPS } from "../../lib/numbers/curves";
import { figure } from "../../lib/numbers/numbers";
import { logTicks, roundTicks, stepTicks } from "../../lib/numbers/ticks";
import type { Bounds } from "./curvesOf";

/** Values that differ by less, relative to their size, are drawn as equal. */
const FLAT = 1e-12;
const HEIGHT_PX = 128;
const AXIS_PX = 48;
/** Room beside the last step: half of a short label. */
const RIGHT_PX = 12;
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const FONT = "10px ui-sans-serif, system-ui, sans-serif";

export interface Inks {
  line: string;
  faint: string;
  band: string;
  grid: string;
  label: string;
  mark: string;
  page: string;
  strong: string;
  /** The colours of the overlaid runs. */
  others: readonly string[];
}

interface Given {
  width: number;
  /** The number of digits that the drawn numbers lack. */
  digits: () => number;
  /** The last step. */
  last: () => number;
  inks: Inks;
  current: () => number | null;
  hover: (index: number | null) => void;
  open: (index: number) => void;
  /** Positions across, on a logarithmic scale, in the place of steps. */
  isByPosition: boolean;
  /** The bounds of all values: an axis of equal values does not go beyond them. */
  bounds: () => Bounds;
  /** Values on a logarithmic scale; all of them are positive. */
  isLog: boolean;
  /** Charts of one name share the pointer; empty for a chart alone. */
  together: string;
}

/** The colours of the theme for the canvas. */
export function inksOf(element: HTMLElement, colour: number, others: readonly number[]): Inks {
  const probe = document.createElement("i");
  element.append(probe);
  const ink = (css: string): string => {
    probe.style.color = css;
    return getComputedStyle(probe).color;
  };
  const inks = {
    line: ink(`var(--run-${colour})`),
    faint: ink(`color-mix(in oklch, var(--run-${colour}) 40%, transparent)`),
    band: ink(`color-mix(in oklch, var(--run-${colour}) 10%, transparent)`),
    others: others.map((one) => ink(`var(--run-${one})`)),
    grid: ink("var(--grid)"),
    label: ink("var(--ink-3)"),
    mark: ink("var(--ink-2)"),
    page: ink("var(--surface-page)"),
    strong: ink("var(--ink-1)"),
  };
  probe.remove();
  return inks;
}

export function optionsOf({
  width,
  digits,
  last,
  inks,
  current,
  hover,
  open,
  isByPosition,
  bounds,
  isLog,
  together,
}: Given): uPlot.Options {
  let roomPx = width;
  const axis = { stroke: inks.label, font: FONT, ticks: { show: false }, border: { show: false } };
  return {
    width,
    height: HEIGHT_PX,
    padding: [8, () => Math.max(RIGHT_PX, Math.ceil(widthOf(last()) / 2) + 2), 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: false, y: false },
      ...(together === "" ? {} : { sync: { key: together } }),
    },
    scales: {
      x: {
        time: false,
        distr: isByPosition ? 3 : 1,
        range: (plot) => apart(plot.data[0][0] ?? 0, plot.data[0].at(-1) ?? 0),
      },
      y: {
        distr: isLog ? 3 : 1,
        range: (_, low, high) => rangeOf(low, high, bounds(), isLog),
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
        splits: (plot, _, low, high) => (isByPosition ? powers(high) : steps(plot, low, high, roomPx)),
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((tick) => String(tick)),
      },
      {
        ...axis,
        grid: { stroke: inks.grid, width: 1 },
        size: AXIS_PX,
        gap: 4,
        splits: (_, __, low, high) => ticksOf(low, high, isLog),
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((tick) => tickOf(tick, digits())),
      },
    ],
    series: [
      {},
      { stroke: inks.faint, width: 1, points: { show: false } },
      { stroke: inks.line, width: 1.75, points: { show: true, filter: alone, fill: inks.line, size: 4 } },
      { stroke: "transparent", points: { show: false } },
      { stroke: "transparent", points: { show: false } },
      ...inks.others.map((stroke) => ({
        stroke,
        width: 1.5,
        points: { show: true, filter: alone, fill: stroke, size: 4 },
      })),
    ],
    bands: [{ series: [3, 4], fill: inks.band }],
    hooks: {
      ready: [(plot) => plot.over.addEventListener("click", onClick(plot, open))],
      draw: [mark(inks.mark, current)],
      setCursor: [(plot) => hover(plot.cursor.idx ?? null)],
    },
  };
}

/** The range of the values that are drawn, from one tick to another. */
export const rangeOf = (low: number | null, high: number | null, bounds: Bounds, isLog: boolean): [number, number] =>
  isLog ? powerRange(low, high) : roundRange(low, high, bounds);

/** The labelled values of a range. */
export const ticksOf = (low: number, high: number, isLog: boolean): number[] =>
  isLog ? logTicks(low, high) : roundTicks(low, high);

/** A number on an axis, in little room; `digits` more than drawn. */
export function tickOf(tick: number, digits: number): string {
  if (digits > 0 && tick !== 0) {
    const [mantissa, exponent] = tick.toExponential(1).split("e");
    return `${Number(mantissa)}e${Number(exponent) + digits}`.replaceAll("-", "−");
  }
  if (Math.abs(tick) >= 1e15) return tick.toExponential(1).replaceAll("-", "−").replace("+", "");
  if (Math.abs(tick) >= 10_000) return COMPACT.format(tick).replace("-", "−");
  if (tick !== 0 && Math.abs(tick) < 0.001) return tick.toExponential(1).replaceAll("-", "−");
  return Math.abs(tick) >= 1000 ? figure(tick) : String(Number(tick.toPrecision(4))).replace("-", "−");
}

/** A range with a width: a single value gets one on either side. */
function apart(low: number, high: number): [number, number] {
  const by = Math.max(1, Math.abs(low) / 100); // adding 1 to a large number changes nothing
  return low === high ? [low - by, high + by] : [low, high];
}

/** Points without a line to them: they are drawn as dots. */
function alone(plot: uPlot, series: number): number[] {
  return lonely(plot.data[series] ?? []);
}

/** The labels of the steps, without overlap. The scale may extend beyond the steps. */
function steps(plot: uPlot, low: number, high: number, px: number): number[] {
  const all = plot.data[0];
  const [first, last] = [Math.max(low, all[0] ?? low), Math.min(high, all.at(-1) ?? high)];
  return stepTicks({ first, last, px: ((last - first) / (high - low)) * px, widthOf });
}

/** 1, 10, 100 and so on. */
function powers(high: number): number[] {
  const most = Math.max(0, Math.floor(Math.log10(high)));
  return Array.from({ length: most + 1 }, (_, power) => 10 ** power);
}

let ruler: CanvasRenderingContext2D | null = null;

/** The width of a step's label on the axis. */
function widthOf(step: number): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (ruler === null) return 0;
  ruler.font = FONT;
  return ruler.measureText(String(step)).width;
}

/** A range that begins and ends at round numbers; a chart without values has some range, too. */
function roundRange(least: number | null, most: number | null, bounds: Bounds): [number, number] {
  if (least === null || most === null) return [0, 1];
  // A moving average of equal values differs from them by its rounding.
  const isFlat = most - least <= FLAT * Math.abs(most);
  const [from, to] = apart(least, isFlat ? least : most);
  const [low, high] = isFlat ? [Math.max(from, bounds.low), Math.min(to, bounds.high)] : [from, to];
  if (!(low < high)) return [from, to];
  const ticks = roundTicks(low, high);
  return [ticks[0] ?? low, ticks.at(-1) ?? high];
}

/** The same on a logarithmic scale. */
function powerRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [1, 10];
  const [from = 1, to = 10] = uPlot.rangeLog(low, high, 10, false);
  return [from ?? 1, to ?? 10];
}

/** uPlot passes on clicks in its legend only, so the plot has its own listener, which goes with the plot. */
function onClick(plot: uPlot, open: (index: number) => void): (event: MouseEvent) => void {
  return (event) => open(plot.posToIdx(event.clientX - plot.over.getBoundingClientRect().left));
}

function mark(ink: string, current: () => number | null): (plot: uPlot) => void {
  return (plot) => {
    const step = current();
    if (step === null) return;
    const x = Math.round(plot.valToPos(step, "x", true)) + 0.5;
    const { left, top, width, height } = plot.bbox;
    if (x < left - 1 || x > left + width + 1) return;
    plot.ctx.save();
    plot.ctx.strokeStyle = ink;
    plot.ctx.lineWidth = devicePixelRatio;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
    plot.ctx.restore();
  };
}
