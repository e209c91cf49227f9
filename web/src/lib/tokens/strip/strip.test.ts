import { describe, expect, it } from "vitest";
import { columnOf, flaggedColumns, meanAndMost, peakNear, stripOf, tokenAtPlace } from "./strip";

const SCALE = { kind: "linear" as const, low: 0, high: 10, middle: null, quiet: 0, isDown: false };
const TWO_SIDED = { kind: "symmetric" as const, low: -10, high: 10, middle: 0, quiet: 0, isDown: false };
const all = (count: number): Uint8Array => new Uint8Array(count).fill(1);

describe("a strip of a series", () => {
  it("has the strongest value of each column, and nothing where no trained token has one", () => {
    const values = Float64Array.of(1, 5, NaN, NaN, 10, 2, 9, 9);
    const { up, mean } = stripOf(values, Uint8Array.of(1, 1, 1, 1, 1, 1, 0, 0), SCALE, 4);
    expect([...up]).toEqual([0.5, NaN, 1, NaN]);
    expect([...mean].map((value) => Math.round(value * 10))).toEqual([3, NaN, 6, NaN]);
  });
  it("has the mean and the largest of the trained tokens", () => {
    const trained = Uint8Array.of(1, 1, 1, 0);
    expect(meanAndMost(Float64Array.of(1, NaN, -4, 9), trained)).toEqual({ mean: -1.5, most: 1 });
    expect(meanAndMost(Float64Array.of(NaN, NaN), trained)).toEqual({ mean: NaN, most: NaN });
  });
  it("goes both ways on a scale with two sides", () => {
    const { up, down } = stripOf(Float64Array.of(-10, 5, -5, -1), all(4), TWO_SIDED, 2);
    expect([...up, ...down]).toEqual([0.5, 0, 1, 0.5]);
  });
  it("has wide columns for few tokens", () => {
    expect([0, 1, 2].map((token) => columnOf(token, 3, 300))).toEqual([0, 100, 200]);
    expect([-1, 0, 0.5, 1].map((place) => tokenAtPlace(place, 4))).toEqual([0, 0, 2, 3]);
  });
  it("marks the columns of flagged tokens", () => {
    expect(flaggedColumns(Uint8Array.of(1, 1, 0, 0, 0, 1), 3)).toEqual([0, 2]);
  });
  it("means the peak near a press", () => {
    const values = Float64Array.from({ length: 100 }, (_, token) => (token === 52 ? 9 : 1));
    expect(peakNear(values, all(100), SCALE, 0.5, 0.03)).toBe(52);
    expect(peakNear(values, all(100), SCALE, 0.9, 0.001)).toBe(90);
    expect(peakNear(values, new Uint8Array(100), SCALE, 0.5, 0.03)).toBe(50);
  });
});
