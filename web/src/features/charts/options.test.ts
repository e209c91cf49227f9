import { describe, expect, it } from "vitest";
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

const widthsOf = (runs: number): (number | undefined)[] =>
  optionsOf({
    width: 600,
    inks: { ...INKS, others: Array.from({ length: runs }, () => "o") },
    digits: () => 0,
    dashes: [],
    withBand: [],
    across: "step",
    range: () => [0, 1],
    isZoomed: () => false,
    onZoom: null,
    current: () => null,
    hover: () => undefined,
    open: () => undefined,
    isByPosition: false,
    isLog: false,
    ends: () => [0, 1],
    dotAt: () => null,
    beyond: () => [],
    drawn: () => undefined,
  })
    .series.slice(5)
    .map(({ width }) => width);

describe("the lines of other runs", () => {
  it("are a pixel wide if there are many: those are painted in a sixth of the time", () => {
    expect(new Set(widthsOf(12))).toEqual(new Set([1.5]));
    expect(new Set(widthsOf(49))).toEqual(new Set([1]));
  });
});
