import { describe, expect, it } from "vitest";
import { type EndsKind, levelOf, LEVELS, NO_LEVEL, placeOf, quantile, rampOf, type ScaleKind, scaleOf } from "./scale";
import { sorted, tint, valueAt } from "./scale";

const ordered = (...values: number[]): Float64Array => sorted(Float64Array.from(values), () => true);
const choice = (kind: ScaleKind, ends: EndsKind = "all", low = NaN, high = NaN) => ({ kind, ends, low, high });
const HUNDRED = ordered(...Array.from({ length: 101 }, (_, i) => i));

describe("the scale of a series", () => {
  it("reaches over all finite values, or leaves out the outermost hundredths, or is fixed", () => {
    expect(ordered(3, NaN, -Infinity, 1)).toEqual(Float64Array.of(1, 3));
    expect(scaleOf(HUNDRED, choice("linear"), false)).toMatchObject({ low: 0, high: 100, middle: null });
    expect(scaleOf(HUNDRED, choice("linear", "clip"), false)).toMatchObject({ low: 1, high: 99 });
    expect(scaleOf(HUNDRED, choice("linear", "fixed", -5, 5), false)).toMatchObject({ low: -5, high: 5 });
    expect(scaleOf(HUNDRED, choice("linear", "fixed", 5, 5), false)).toMatchObject({ low: 0, high: 100 });
  });
  it("around zero reaches as far on either side", () => {
    const scale = scaleOf(ordered(-1, 3), choice("symmetric"), false);
    expect(scale).toEqual({ kind: "symmetric", low: -3, high: 3, middle: 0 });
    expect([-3, -1.5, 0, 3].map((value) => levelOf(scale, value))).toEqual([-LEVELS, -LEVELS / 2, 0, LEVELS]);
  });
  it("in logarithms holds positive values alone, and that of ratios lies around 1", () => {
    expect(scaleOf(ordered(-1, 0, 0.01, 1), choice("log"), false)).toMatchObject({ low: 0.01, high: 1, middle: null });
    const ratio = scaleOf(ordered(0.5, 1, 4), choice("log"), true);
    expect(ratio).toMatchObject({ low: 0.25, middle: 1 });
    expect(levelOf(ratio, 1)).toBe(0);
    expect(levelOf(ratio, 0.5)).toBe(-LEVELS / 2);
  });
  it("has no tint for NaN, and one at the ends for what lies beyond them", () => {
    const scale = scaleOf(HUNDRED, choice("log"), false);
    expect(levelOf(scale, NaN)).toBe(NO_LEVEL);
    expect([levelOf(scale, Infinity), levelOf(scale, -Infinity), levelOf(scale, 0)]).toEqual([LEVELS, 0, 0]);
    expect(tint(scale, NaN)).toBe("");
    expect(tint(scale, 100)).toContain("var(--seq-text) 100%");
  });
  it("grows towards the low end where nothing is above zero", () => {
    const scale = scaleOf(ordered(-8, -4, 0), choice("linear"), false);
    expect([-8, -4, 0].map((value) => levelOf(scale, value))).toEqual([LEVELS, LEVELS / 2, 0]);
  });
  it("is empty without values, and of one value has no width", () => {
    expect(levelOf(scaleOf(ordered(), choice("linear"), false), 1)).toBe(NO_LEVEL);
    expect(levelOf(scaleOf(ordered(2, 2), choice("linear"), false), 2)).toBe(0);
  });
  it("holds values whose distance is infinite", () => {
    const scale = scaleOf(ordered(-1e308, 1e308), choice("linear"), false);
    expect(placeOf(scale, 0)).toBe(0.5);
    expect(valueAt(scale, 0.5)).toBe(0);
  });
  it("is an image from end to end", () => {
    expect(rampOf(scaleOf(HUNDRED, choice("symmetric"), false))).toMatch(
      /^linear-gradient\(to right, .*div-neg.*div-pos/,
    );
  });
});

it("orders some of very many values, with the least and the greatest", () => {
  const many = Float64Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 100_000);
  const some = sorted(many, () => true);
  expect(some.length).toBeLessThan(20_000);
  expect([some[0], some.at(-1)]).toEqual([0, 99_999]);
  expect(Math.abs(quantile(some, 0.99) - 99_000)).toBeLessThan(300);
  expect(sorted(many, (place) => place < 2)).toEqual(Float64Array.of(0, 7919));
});
