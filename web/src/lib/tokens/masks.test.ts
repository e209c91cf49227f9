import { describe, expect, it } from "vitest";
import type { Limit, MaskRuleInfo } from "../../api/types.gen";
import { agreement, boundsOf, countOf, exceeded, mostOf, recordedFlags, stepOf, takenOut, thresholdsOf } from "./masks";

const ALL: Limit["signs"] = ["up", "zero", "down"];
const limit = (threshold: string, value: number, side: "low" | "high", more: Partial<Limit> = {}): Limit => ({
  threshold,
  value,
  side,
  signs: ALL,
  base: 0,
  factor: 1,
  ...more,
});
const rule = (...limits: Limit[]): MaskRuleInfo => ({
  name: "r",
  title: "R",
  series: "s",
  limits,
  is_of_run: false,
});

const DPPO = rule(
  limit("low", 0.2, "low", { signs: ["zero", "down"], factor: -1 }),
  limit("high", 0.2, "high", { signs: ["up"] }),
);
const ICEPOP = rule(limit("low", 0.2, "low"), limit("high", 5, "high"));
const PPO = rule(
  limit("low", 0.2, "low", { signs: ["down"], base: 1, factor: -1 }),
  limit("high", 0.2, "high", { signs: ["up"], base: 1 }),
);
const IPO = rule(limit("threshold", 0.1, "low", { factor: -1 }), limit("threshold", 0.1, "high"));

function flags(
  of: MaskRuleInfo,
  values: readonly number[],
  advantages: readonly number[] | null,
  moved: Readonly<Record<string, number>> = {},
): number[] {
  const bounds = boundsOf(
    of,
    thresholdsOf(of, (name) => moved[name]),
  );
  const trained = new Uint8Array(values.length).fill(1);
  const signs = advantages === null ? null : Float64Array.from(advantages);
  return [...takenOut(bounds, Float64Array.from(values), signs, trained)];
}

describe("a rule", () => {
  it("takes out what is beyond its limits under the sign of the advantage", () => {
    expect(flags(DPPO, [0.3, 0.3, 0.3, -0.3, -0.3, -0.3], [1, 0, -1, 1, 0, -1])).toEqual([1, 0, 0, 0, 1, 1]);
    expect(flags(PPO, [1.3, 1.3, 0.7, 0.7, 1.2], [1, -1, 1, -1, 1])).toEqual([1, 0, 0, 1, 0]);
  });
  it("without a condition on the sign needs no advantages, and with one takes nothing out without them", () => {
    expect(flags(ICEPOP, [0.1, 0.2, 5, 5.1], null)).toEqual([1, 0, 0, 1]);
    expect(flags(DPPO, [0.3, -0.3], null)).toEqual([0, 0]);
  });
  it("counts an advantage that is NaN as zero, and never takes out a value that is NaN", () => {
    expect(flags(DPPO, [-0.3, 0.3, NaN], [NaN, NaN, 1])).toEqual([1, 0, 0]);
  });
  it("follows its thresholds, of which one may move several limits", () => {
    expect(thresholdsOf(IPO, () => undefined)).toEqual([{ name: "threshold", value: 0.1, usual: 0.1 }]);
    expect(thresholdsOf(IPO, () => 0.3)).toEqual([{ name: "threshold", value: 0.3, usual: 0.1 }]);
    expect(flags(IPO, [-0.15, 0.15, 0.05], null)).toEqual([1, 1, 0]);
    expect(flags(IPO, [-0.15, 0.15, 0.05], null, { threshold: 0.2 })).toEqual([0, 0, 0]);
    expect(flags(PPO, [1.3], [1], { high: 0.4 })).toEqual([0]);
  });
  it("says which limit a token exceeds", () => {
    const bounds = boundsOf(
      PPO,
      thresholdsOf(PPO, () => undefined),
    );
    expect(exceeded(bounds, 1.3, 1)).toMatchObject({ threshold: "high", side: "high", end: 1.2 });
    expect(exceeded(bounds, 1.1, 1)).toBeNull();
  });
  it("never takes out a token that is not trained", () => {
    expect([...takenOut(boundsOf(ICEPOP, []), Float64Array.of(9, 9), null, Uint8Array.of(0, 1))]).toEqual([0, 1]);
    expect([...recordedFlags(Float64Array.of(1, 1, 0, NaN), Uint8Array.of(0, 1, 1, 1))]).toEqual([0, 1, 0, 0]);
  });
});

it("compares two rules by the tokens that either takes out", () => {
  const one = Uint8Array.of(1, 1, 0, 0);
  expect(agreement(one, Uint8Array.of(1, 0, 1, 0))).toBeCloseTo(1 / 3);
  expect([agreement(one, one), agreement(new Uint8Array(4), new Uint8Array(4)), countOf(one)]).toEqual([1, NaN, 2]);
});

it("moves a threshold in steps of its size, and slides it as far as a few times its size", () => {
  expect([0.2, 5, 0.0003, 0].map(mostOf)).toEqual([1, 25, 0.0015, 1]);
  expect([0.2, 5, 0.0003, 0].map(stepOf)).toEqual([0.01, 0.1, 0.00001, 0.01]);
});
