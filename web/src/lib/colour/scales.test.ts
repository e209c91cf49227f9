import { describe, expect, it } from "vitest";
import type { ColumnInfo } from "../../api/types.gen";
import { cellColour, placeIn, rangeOf, scaleOf, share, shareOf, stop } from "./scales";

function column(name: string, more: Partial<ColumnInfo> = {}): ColumnInfo {
  return {
    name,
    kind: "number",
    source: "metric",
    low: 0,
    high: 1,
    worst: null,
    best: null,
    label: "",
    unit: "",
    is_empty: false,
    ...more,
  };
}

describe("scales of columns", () => {
  it("take the declared range, turned round where less is better", () => {
    const errors = scaleOf(column("errors", { low: 2, high: 3, worst: 10, best: 0 }), 8);
    expect(errors).toEqual({ kind: "score", low: 10, high: 0 });
    expect([placeIn(errors, 10), placeIn(errors, 0), placeIn(errors, 5)]).toEqual([0, 1, 0.5]);
  });
  it("spread group-normalised advantages to the root of G - 1, others to the greatest seen", () => {
    const of = (low: number, high: number) => scaleOf(column("advantage", { source: "fixed", low, high }), 8);
    expect(of(-1.2, 2.4)).toEqual({ kind: "signed", low: -Math.sqrt(7), high: Math.sqrt(7) });
    expect(of(-0.5, 0.9)).toEqual({ kind: "signed", low: -0.9, high: 0.9 });
    expect(of(-7, 3)).toEqual({ kind: "signed", low: -7, high: 7 });
  });
  it("know rewards and their parts, differences and sizes", () => {
    expect(
      ["reward", "reward.acc", "rewards/format", "ref_reward"].map((name) => scaleOf(column(name), 0).kind),
    ).toEqual(["score", "score", "score", "score"]);
    expect(["advantage", "advantages"].map((name) => scaleOf(column(name), 0).kind)).toEqual(["signed", "signed"]);
    expect(scaleOf(column("reward_gap", { low: -0.5, high: 0.2 }), 0)).toEqual({
      kind: "signed",
      low: -0.5,
      high: 0.5,
    });
    expect(scaleOf(column("avg_kl", { low: 0, high: 0.02 }), 0)).toEqual({ kind: "size", low: 0, high: 0.02 });
    expect(scaleOf(column("status", { kind: "text", low: null, high: null }), 0).kind).toBe("none");
  });
  it("call nothing good or bad that the run does not: only rewards, their parts, and what it declares", () => {
    const kinds = (names: readonly string[], more: Partial<ColumnInfo> = {}) =>
      new Set(names.map((name) => scaleOf(column(name, more), 0).kind));
    expect(kinds(["num_tries", "repetition", "format", "correct", "rewarded_turns", "response_chars"])).toEqual(
      new Set(["size"]),
    );
    expect(kinds(["reward.length", "reward.repetition_penalty", "reward.num_tokens", "reward/tries"])).toEqual(
      new Set(["size"]),
    );
    expect(kinds(["bonus"], { low: -1, high: 1 })).toEqual(new Set(["size"]));
    expect(kinds(["correct"], { worst: 0, best: 1 })).toEqual(new Set(["score"]));
    expect(kinds(["num_tries"], { worst: 0, best: 5 })).toEqual(new Set(["size"]));
    expect(kinds(["num_correct", "num_tests_passed", "countries"], { worst: 0, best: 5 })).toEqual(new Set(["score"]));
    expect(kinds(["num_tries"], { worst: 5, best: 0 })).toEqual(new Set(["score"]));
  });
  it("run from the lowest to the highest where a size is below zero", () => {
    const size = scaleOf(column("logprob", { low: -2, high: -1 }), 0);
    expect(size).toEqual({ kind: "size", low: -2, high: -1 });
    expect([placeIn(size, -2), placeIn(size, -1)]).toEqual([0, 1]);
  });
  it("have one hue for sizes, two for what has two sides, and the score's for what is good or bad", () => {
    const size = scaleOf(column("avg_kl", { low: 0, high: 5 }), 0);
    const signed = scaleOf(column("reward_gap", { low: -1, high: 1 }), 0);
    const score = scaleOf(column("reward"), 0);
    const hues = (of: typeof size): (string | undefined)[] =>
      [0.5, 2.5, 4.5].map((value) => /var\(--([a-z-]+)\)/.exec(cellColour(of, value) ?? "")?.[1]);
    expect(hues(size)).toEqual(["seq-full", "seq-full", "seq-full"]);
    expect(
      [cellColour(signed, -0.5), cellColour(signed, 0.5)].map((one) => /--div-(neg|pos)/.exec(one ?? "")?.[1]),
    ).toEqual(["neg", "pos"]);
    expect(
      [0, 0.5, 1].map((value) => cellColour(score, value)).some((one) => one === null || one.includes("seq-full")),
    ).toBe(false);
    expect(cellColour(size, 0.5)).not.toBe(cellColour(size, 4.5));
  });
  it("tell numbers apart whose distance is none", () => {
    const far = scaleOf(column("kl_gap", { low: -1e308, high: 1e308 }), 0);
    expect([-1e308, 0, 1e308].map((value) => placeIn(far, value))).toEqual([0, 0.5, 1]);
  });
  it("give no colour to what is not a number", () => {
    const scale = scaleOf(column("reward"), 0);
    expect([cellColour(scale, null), cellColour(scale, NaN)]).toEqual([null, null]);
    expect(cellColour(scale, Infinity)).toBe(cellColour(scale, 1));
  });
});

describe("colours of rewards", () => {
  it("take the usual ranges where they hold all", () => {
    expect(rangeOf(0.2, 0.9)).toEqual({ low: 0, high: 1 });
    expect(rangeOf(-1, 1)).toEqual({ low: -1, high: 1 });
    expect(rangeOf(0, 1.5)).toEqual({ low: 0, high: 1.5 });
  });
  it("place a value, and nothing that is not a number", () => {
    expect(share(0.5, { low: 0, high: 1 })).toBe(0.5);
    expect(share(9, { low: 0, high: 1 })).toBe(1);
    expect(share(NaN, { low: 0, high: 1 })).toBeNull();
    expect(stop(1)).toBe(4);
  });
});

describe("shareOf", () => {
  it("goes from the worst value to the best, whichever is greater", () => {
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 0, 4))).toEqual([0, 0.25, 0.75, 1, 1]);
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 4, 0))).toEqual([1, 0.75, 0.25, 0, 0]);
    expect([shareOf(null, 4, 0), shareOf(Number.NaN, 0, 4)]).toEqual([null, null]);
  });
});
