import { describe, expect, it } from "vitest";
import { rangeOf } from "./axis";
import { NO_BOUNDS } from "./curvesOf";
import { firmness } from "./inks";

describe("the axis of equal values", () => {
  it("has one on either side of large ones, and begins at zero for small ones", () => {
    const range = (value: number): [number, number] => rangeOf(value, value, NO_BOUNDS, false);
    expect(range(12)).toEqual([11, 13]);
    expect(range(0.5)).toEqual([0, 1]);
    expect(range(-0.0003)[1]).toBe(0);
    expect(range(0)).toEqual([-1, 1]);
  });
  it("ends where the values may not go on", () => {
    expect(rangeOf(1, 1, { low: 0, high: 1 }, false)).toEqual([0, 1]);
  });
});

it("a raw line is the fainter the more points it has", () => {
  expect([20, 100, 400, 5000].map(firmness)).toEqual([40, 40, 20, 14]);
});
