import type uPlot from "uplot";
import { expect, it } from "vitest";
import type { Inks } from "../inks";
import { pointerDots } from "./pointer";

const inks = (others: string[]): Inks => ({
  line: "own",
  faint: "f",
  band: "b",
  grid: "g",
  label: "t",
  mark: "m",
  page: "p",
  strong: "s",
  others,
  faints: others,
  bands: others,
});

/** What each of so many series has at the pointer. */
function dotsOf(others: string[], bands: number, count: number): string[] {
  const { fill, width, stroke } = pointerDots(inks(others), 5, bands);
  const at = (of: unknown, series: number): unknown =>
    (of as (plot: uPlot, series: number) => unknown)({} as uPlot, series);
  return Array.from({ length: count }, (_, i) => {
    const series = i + 1;
    if (at(fill, series) !== "transparent") return `dot ${String(at(fill, series))}`;
    return at(width, series) === 0 ? "" : `ring ${String(at(stroke, series))}`;
  });
}

it("a dot is at the value, which the title has, and a ring at the average, in the colour of the line", () => {
  expect(dotsOf([], 0, 4)).toEqual(["dot own", "ring own", "", ""]);
  const ofTwo = ["dot own", "ring own", "", "", "ring a", "ring b", "", "", "dot a", "dot b"];
  expect(dotsOf(["a", "b"], 1, 10)).toEqual(ofTwo);
  expect(dotsOf(["a", "b", "c", "d"], 0, 8), "no value of many lines is drawn").toEqual([
    "dot own",
    "ring own",
    "",
    "",
    "ring a",
    "ring b",
    "ring c",
    "ring d",
  ]);
});
