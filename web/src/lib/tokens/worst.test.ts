import { describe, expect, it } from "vitest";
import { distribution, worst } from "./worst";

const LINEAR = { kind: "linear" as const, low: 0, high: 10, middle: null };
const ALL = (count: number): Uint8Array => new Uint8Array(count).fill(1);

describe("the worst tokens", () => {
  it("have the largest values, and of equal ones the first", () => {
    const values = Float64Array.of(1, 5, NaN, 9, 5, Infinity, 0);
    expect(worst(values, LINEAR, ALL(7), 4)).toEqual([5, 3, 1, 4]);
    expect(worst(values, LINEAR, ALL(7), 99)).toEqual([5, 3, 1, 4, 0, 6]);
  });
  it("are furthest from the middle of a scale with two sides, or from zero below it", () => {
    const values = Float64Array.of(-3, 2, -1);
    expect(worst(values, { kind: "symmetric", low: -3, high: 3, middle: 0 }, ALL(3), 2)).toEqual([0, 1]);
    expect(worst(values, { kind: "linear", low: -3, high: 0, middle: null }, ALL(3), 1)).toEqual([0]);
    const ratios = Float64Array.of(2, 0.1, 1);
    expect(worst(ratios, { kind: "log", low: 0.1, high: 10, middle: 1 }, ALL(3), 2)).toEqual([1, 0]);
  });
  it("may be those of a range", () => {
    expect(worst(Float64Array.of(9, 1, 2, 9), LINEAR, ALL(4), 5, { from: 1, stop: 3 })).toEqual([2, 1]);
  });
  it("are trained ones", () => {
    expect(worst(Float64Array.of(9, 1), LINEAR, Uint8Array.of(0, 1), 5)).toEqual([1]);
  });
});

it("is drawn in bars over the scale, with what lies beyond its ends in the outermost", () => {
  const bars = distribution(Float64Array.of(-5, 1, 1.5, 3, 99), LINEAR, 5);
  expect(bars.map(({ height }) => height)).toEqual([1, 1 / 3, 0, 0, 1 / 3]);
  expect(bars[0]?.place).toBeCloseTo(0.1);
  expect(distribution(new Float64Array(), LINEAR, 2).map(({ height }) => height)).toEqual([0, 0]);
});
