import type uPlot from "uplot";
import { describe, expect, it, vi } from "vitest";
import { optionsOf } from "./options";

const INKS = {
  faint: "f",
  line: "l",
  band: "b",
  grid: "g",
  label: "t",
  strong: "s",
  mark: "m",
  page: "p",
  bands: [],
  faints: [],
};

const options = (
  runs: number,
  rows: readonly number[] = [],
  open: (index: number) => void = () => undefined,
): uPlot.Options =>
  optionsOf({
    height: 128,
    width: 600,
    inks: {
      ...INKS,
      others: Array.from({ length: runs }, () => "o"),
      faints: Array.from({ length: runs }, (_, i) => `faint ${i}`),
    },
    isShare: false,
    digits: () => 0,
    dashes: [],
    withBand: [],
    across: "step",
    range: () => [0, 1],
    isZoomed: () => false,
    onZoom: null,
    current: () => null,
    hover: () => undefined,
    open,
    isByPosition: false,
    isLog: false,
    ends: () => [0, 1],
    rowsOf: () => rows,
    dotAt: () => null,
    beyond: () => [],
    drawn: () => undefined,
  });

const widthsOf = (runs: number): (number | undefined)[] =>
  options(runs)
    .series.slice(5)
    .map(({ width }) => width);

/** A path that notes where it goes. */
class Path {
  readonly places: string[] = [];
  moveTo(x: number, y: number): void {
    this.places.push(`M${x} ${y}`);
  }
  lineTo(x: number, y: number): void {
    this.places.push(`L${x} ${y}`);
  }
}

/** A plot of 100 by 10 pixels for values up to 1 after steps up to 10, with the strokes on its canvas. */
function plotOf(data: (number | null | undefined)[][]): { plot: uPlot; strokes: string[] } {
  const strokes: string[] = [];
  const nothing = (): undefined => undefined;
  const ctx = {
    save: nothing,
    restore: nothing,
    beginPath: nothing,
    rect: nothing,
    clip: nothing,
    setLineDash: nothing,
    stroke(path: Path) {
      strokes.push(`${this.strokeStyle} ${path.places.join("")}`);
    },
    strokeStyle: "",
  };
  const valToPos = (value: number): number => value * 10;
  const scales = { x: { min: 0, max: 10, distr: 1 }, y: { min: 0, max: 1, distr: 1 } };
  return { plot: { data, ctx, bbox: {}, scales, valToPos } as unknown as uPlot, strokes };
}

describe("the lines of other runs", () => {
  it("are a pixel wide if there are many: those are painted in a sixth of the time", () => {
    expect(new Set(widthsOf(12))).toEqual(new Set([1.5]));
    expect(new Set(widthsOf(49))).toEqual(new Set([1]));
  });
  it("walk their own points, with a gap where a value is missing", () => {
    vi.stubGlobal("Path2D", Path);
    const { plot } = plotOf([[0, 1, 2, 3, 4], [], [], [], [], [0.1, undefined, 0.2, null, 0.4]]);
    const { paths, points } = options(1, [0, 2, 3, 4]).series[5] ?? {};
    const drawn = paths?.(plot, 5, 0, 4)?.stroke as unknown as Path;
    expect(drawn.places).toEqual(["M0 1", "L20 2", "M40 4"]);
    expect(typeof points?.filter === "function" ? points.filter(plot, 5, false) : null).toEqual([4]);
  });
  it("are above the raw ones of all curves", () => {
    vi.stubGlobal("Path2D", Path);
    const { plot, strokes } = plotOf([[0, 1], [], [], [], [], [], [], [0.5, 0.6], [0.7, null]]);
    const { series, hooks } = options(2, [0, 1]);
    for (const hook of hooks?.drawAxes ?? []) hook?.(plot);
    expect(strokes, "before any series").toEqual(["faint 0 M0 5L10 6", "faint 1 M0 7"]);
    expect(series.slice(7).map(({ paths }) => paths?.(plot, 7, 0, 1))).toEqual([null, null]);
    expect(series[1]?.stroke, "the raw line of the first curve is below them").toBe("f");
  });
});

it("a finger reads values, and a press of the mouse opens the rollouts", () => {
  const opened = vi.fn<(index: number) => void>();
  const pointed = vi.fn<(at: { left: number; top: number }) => void>();
  const over = document.createElement("div");
  const plot = { over, posToIdx: (px: number) => px / 10, setCursor: pointed } as unknown as uPlot;
  const [ready] = options(0, [], opened).hooks?.ready ?? [];
  ready?.(plot);
  const press = (pointerType: string): void => {
    over.dispatchEvent(Object.assign(new Event("pointerdown"), { pointerType }));
    over.dispatchEvent(new MouseEvent("click", { clientX: 30, clientY: 4 }));
  };
  press("touch");
  expect([opened.mock.calls, pointed.mock.calls]).toEqual([[], [[{ left: 30, top: 4 }]]]);
  press("mouse");
  expect(opened.mock.calls).toEqual([[3]]);
});
