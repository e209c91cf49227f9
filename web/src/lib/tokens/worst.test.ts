import { describe, expect, it } from "vitest";
import { distribution, sideOf, worst, worstOfBoth } from "./worst";

const LINEAR = { kind: "linear" as const, low: 0, high: 10, middle: null, quiet: 0, isDown: false };
const ALL = (count: number): Uint8Array => new Uint8Array(count).fill(1);

const series = (name: string, ...values: number[]) => ({
  name,
  scale: name === "prob_delta" ? ("symmetric" as const) : ("linear" as const),
  values: Float64Array.from(values),
});

describe("the worst tokens", () => {
  it("have the largest values, and of equal ones the first", () => {
    const values = series("kl", 1, 5, NaN, 9, 5, Infinity, 0);
    expect(worst(values, ALL(7), 4)).toEqual([5, 3, 1, 4]);
    expect(worst(values, ALL(7), 99)).toEqual([5, 3, 1, 4, 0, 6]);
  });
  it("are furthest from zero or from a ratio of one to either side, and the least of probabilities", () => {
    expect(worst(series("prob_delta", -3, 2, -1), ALL(3), 2)).toEqual([0, 1]);
    expect(worst(series("importance_ratio", 2, 0.1, 1), ALL(3), 2)).toEqual([1, 0]);
    expect(worst(series("logprobs", -3, -1, -2), ALL(3), 1)).toEqual([0]);
    expect(worst(series("ref_probability", 1, 0.1, 0.5), ALL(3), 1)).toEqual([1]);
    expect(["log_ratio", "log_probability", "kl"].map((name) => sideOf(series(name)))).toEqual(["high", "low", "high"]);
  });
  it("of two sides are one list", () => {
    const reply = (...values: (number | string)[]) => ({
      run: "r",
      version: "1",
      series: "importance_ratio",
      tokens: values.map((value, token) => ({ value, id: `train/0/0/${value}`, token, text: null, token_id: null })),
      coverage: { samples: 1, pending: 0, unread: 0 },
    });
    const both = worstOfBoth(reply(9, 2, 1.1), reply(0.01, 0.4, 1.1));
    expect(both.tokens.map(({ value }) => value)).toEqual([0.01, 9, 0.4]);
    expect(worstOfBoth(reply(1.5), reply(1.5)).tokens).toHaveLength(1);
  });
  it("may be those of a range", () => {
    expect(worst(series("kl", 9, 1, 2, 9), ALL(4), 5, { from: 1, stop: 3 })).toEqual([2, 1]);
  });
  it("are trained ones", () => {
    expect(worst(series("kl", 9, 1), Uint8Array.of(0, 1), 5)).toEqual([1]);
  });
});

it("is drawn in bars over the scale, with what lies beyond its ends in the outermost", () => {
  const bars = distribution(Float64Array.of(-5, 1, 1.5, 3, 99), LINEAR, 5);
  expect(bars.map(({ height }) => height)).toEqual([1, 1 / 3, 0, 0, 1 / 3]);
  expect(bars[0]?.place).toBeCloseTo(0.1);
  expect(distribution(new Float64Array(), LINEAR, 2).map(({ height }) => height)).toEqual([0, 0]);
});
