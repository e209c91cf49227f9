import { describe, expect, it } from "vitest";
import { type EndsKind, levelOf, LEVELS, NO_LEVEL, placeOf, quantile, rampOf, type ScaleKind, scaleOf } from "./scale";
import { reaching, sorted, tint, updateScale, valueAt } from "./scale";

const ordered = (...values: number[]): Float64Array => sorted(Float64Array.from(values), () => true);
const choice = (kind: ScaleKind, ends: EndsKind = "all", low = NaN, high = NaN) => ({ kind, ends, low, high });
const HUNDRED = ordered(...Array.from({ length: 101 }, (_, i) => i));

describe("the scale of a series", () => {
  it("reaches over all finite values, or leaves out the outermost hundredths, or is fixed", () => {
    expect(ordered(3, NaN, -Infinity, 1)).toEqual(Float64Array.of(1, 3));
    expect(scaleOf(HUNDRED, choice("linear"), "kl")).toMatchObject({ low: 0, high: 100, middle: null });
    expect(scaleOf(HUNDRED, choice("linear", "clip"), "kl")).toMatchObject({ low: 1, high: 99 });
    expect(scaleOf(HUNDRED, choice("linear", "fixed", -5, 5), "kl")).toMatchObject({ low: -5, high: 5 });
    expect(scaleOf(HUNDRED, choice("linear", "fixed", 5, 5), "kl")).toMatchObject({ low: 0, high: 100 });
  });
  it("around zero reaches as far on either side", () => {
    const scale = scaleOf(ordered(-1, 3), choice("symmetric"), "kl");
    expect(scale).toMatchObject({ kind: "symmetric", low: -3, high: 3, middle: 0 });
    expect([-3, -1.5, 0, 3].map((value) => levelOf(scale, value))).toEqual([-LEVELS, -LEVELS / 2, 0, LEVELS]);
  });
  it("in logarithms holds positive values alone, and that of ratios lies around 1", () => {
    expect(scaleOf(ordered(-1, 0, 0.01, 1), choice("log"), "kl")).toMatchObject({ low: 0.01, high: 1, middle: null });
    const ratio = scaleOf(ordered(0.5, 1, 4), choice("log"), "importance_ratio");
    expect(ratio).toMatchObject({ low: 0.25, middle: 1 });
    expect(levelOf(ratio, 1)).toBe(0);
    expect(levelOf(ratio, 0.5)).toBe(-LEVELS / 2);
  });
  it("has no tint for NaN, and one at the ends for what lies beyond them", () => {
    const scale = scaleOf(HUNDRED, choice("log"), "kl");
    expect(levelOf(scale, NaN)).toBe(NO_LEVEL);
    expect([levelOf(scale, Infinity), levelOf(scale, -Infinity), levelOf(scale, 0)]).toEqual([LEVELS, 0, 0]);
    expect(tint(scale, NaN)).toBe("");
    expect(tint(scale, 100)).toContain("var(--heat) 100%");
  });
  it("grows towards the low end where nothing is above zero", () => {
    const scale = scaleOf(ordered(-8, -4, 0), choice("linear"), "kl");
    expect([-8, -4, 0].map((value) => levelOf(scale, value))).toEqual([LEVELS, LEVELS / 2, 0]);
  });
  it("grows towards the low end of probabilities, which are the worst there", () => {
    const scale = scaleOf(ordered(0.1, 0.5, 1), choice("linear"), "ref_probability");
    expect([0.1, 1].map((value) => levelOf(scale, value))).toEqual([LEVELS, 0]);
  });
  it("has tints for the quarter of the values that stands out, and says where they begin", () => {
    const kl = scaleOf(HUNDRED, choice("linear", "out"), "kl");
    expect([kl.low, kl.high]).toEqual([75, 99]);
    expect([0, 50, 75, 87, 100].map((value) => levelOf(kl, value))).toEqual([0, 0, 0, LEVELS / 2, LEVELS]);
    const log = scaleOf(HUNDRED, choice("log", "out"), "kl");
    expect(log.low).toBe(75);
    expect(log.high).toBeCloseTo(99.01);
    expect(scaleOf(ordered(1e-9, 1e-8, 1e-7, 1), choice("log", "out"), "kl").low).toBeGreaterThan(1e-4);
    const logprobs = scaleOf(
      HUNDRED.map((value) => value - 100),
      choice("linear", "out"),
      "logprobs",
    );
    expect([logprobs.low, logprobs.high]).toEqual([-99, -75]);
    expect([-100, -75, 0].map((value) => levelOf(logprobs, value))).toEqual([LEVELS, 0, 0]);
    const around = scaleOf(
      HUNDRED.map((value) => value - 50),
      choice("symmetric", "out"),
      "log_ratio",
    );
    expect(around).toMatchObject({ low: -49, high: 49 });
    expect([-49, 0, 37, 49].map((value) => levelOf(around, value))).toEqual([-LEVELS, 0, 0, LEVELS]);
  });
  it("reaches the few values that differ where nearly all are the same", () => {
    const reward = ordered(...Array.from({ length: 1000 }, (_, i) => (i === 999 ? 1 : 0)));
    for (const ends of ["out", "clip"] as const) {
      const scale = scaleOf(reward, choice("linear", ends), "token_rewards");
      expect([0, 1].map((value) => levelOf(scale, value))).toEqual([0, LEVELS]);
    }
    const flags = ordered(0, 0, 1, 1, 1);
    expect(levelOf(scaleOf(flags, choice("linear", "out"), "loss_mask"), 1)).toBe(LEVELS);
    const sides = scaleOf(ordered(-1, -1, 1, 1), choice("symmetric", "out"), "advantages");
    expect([-1, 1].map((value) => levelOf(sides, value))).toEqual([-LEVELS, LEVELS]);
  });
  it("has no width where all values are the same, around zero as elsewhere", () => {
    for (const kind of ["linear", "symmetric", "log"] as const) {
      const scale = scaleOf(ordered(1.5, 1.5, 1.5000001), choice(kind, "out"), "advantages");
      expect([scale.low, scale.high, tint(scale, 1.5)]).toEqual([1.5, 1.5, ""]);
    }
    expect(tint(updateScale(ordered(1.5, 1.5)), 1.5)).toContain("div-pos"); // each push of an update has a tint
  });
  it("reaches as far as the values do where nothing may be clipped", () => {
    const end = (kind: ScaleKind, values: Float64Array, name: string) => {
      const { low, high } = reaching(scaleOf(values, choice(kind, "out"), name), values);
      return [low, high];
    };
    expect(end("linear", HUNDRED, "kl")).toEqual([75, 100]);
    expect(
      end(
        "linear",
        HUNDRED.map((value) => value - 100),
        "logprobs",
      ),
    ).toEqual([-100, -75]);
    expect(
      end(
        "symmetric",
        HUNDRED.map((value) => value - 50),
        "log_ratio",
      ),
    ).toEqual([-50, 50]);
    const ratios = end(
      "log",
      HUNDRED.map((value) => Math.exp((value - 50) / 50)),
      "importance_ratio",
    );
    expect(ratios[0]).toBeCloseTo(1 / Math.E);
    expect(ratios[1]).toBeCloseTo(Math.E);
  });
  it("is empty without values, and of one value has no width", () => {
    expect(levelOf(scaleOf(ordered(), choice("linear"), "kl"), 1)).toBe(NO_LEVEL);
    expect(levelOf(scaleOf(ordered(2, 2), choice("linear"), "kl"), 2)).toBe(0);
  });
  it("holds values whose distance is infinite", () => {
    const scale = scaleOf(ordered(-1e308, 1e308), choice("linear"), "kl");
    expect(placeOf(scale, 0)).toBe(0.5);
    expect(valueAt(scale, 0.5)).toBe(0);
  });
  it("is an image from end to end", () => {
    expect(rampOf(scaleOf(HUNDRED, choice("symmetric"), "kl"))).toMatch(
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
