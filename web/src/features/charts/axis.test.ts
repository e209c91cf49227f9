import { describe, expect, it } from "vitest";
import { rangeOf, tickOf, ticksOf } from "./axis";
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

describe("a logarithmic axis", () => {
  const range = (low: number, high: number): [number, number] => rangeOf(low, high, NO_BOUNDS, true);
  it("ends close to its values, whatever their size", () => {
    expect(range(0.2, 60)).toEqual([0.2, 100]);
    expect(range(24, 53)).toEqual([20, 60]);
    expect(range(0.0021, 0.9)).toEqual([0.002, 1]);
    expect(range(1e-300, 1e300)).toEqual([1e-300, 1e300]);
    expect(range(5e-324, 1)[0]).toBeGreaterThan(0);
  });
  it("has a value on either side of equal ones", () => {
    for (const value of [1, 3, 1e-6, 7e12]) {
      const [low, high] = range(value, value);
      expect([low < value, high > value, ticksOf(low, high, true).length > 1]).toEqual([true, true, true]);
    }
  });
});

it("a raw line is the fainter the more points it has", () => {
  expect([20, 100, 400, 5000].map(firmness)).toEqual([40, 40, 20, 14]);
});

it("a value on the axis is short, and a share in percent", () => {
  const written = [0.25, -3, 1500, 12_500, 1.005e15, 2e18, 5e-6].map((one) => tickOf(one, 0));
  expect(written).toEqual(["0.25", "−3", "1,500", "12.5K", "1005T", "2.0e18", "5.0e−6"]);
  expect([0, 0.25, 1].map((one) => tickOf(one, 0, true))).toEqual(["0%", "25%", "100%"]);
});
