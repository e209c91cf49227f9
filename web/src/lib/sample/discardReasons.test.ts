import { describe, expect, it } from "vitest";
import type { RunDiscards, StepsReply } from "../../api/types.gen";
import { bars, meaningOf, percent, summed } from "./discardReasons";

const steps = (count: number): StepsReply => ({
  run: "r",
  split: "train",
  version: "1",
  steps: Array.from({ length: count }, (_, i) => 2 * i),
  samples: Array(count).fill(6),
  discarded: Array(count).fill(4),
  reward_mean: [],
  reward_std: [],
  reward_excluded: [],
  states: {},
  stamps: [],
});

const REPLY: RunDiscards = {
  run: "r",
  split: "train",
  version: "1",
  reasons: ["a", "b", "b"],
  steps: [0, 0, 2],
  samples: [1, 3, 4],
  groups: [1, 1, 2],
  unfinished: [0, 3, 0],
  at_zero: [0, 0, 2],
  above_zero: [1, 3, 2],
};

describe("what was not trained on", () => {
  it("is added up by reason, over the run and at a step", () => {
    const { reasons, generated, generatedHere } = summed(REPLY, steps(2), 0);
    expect(
      reasons.map(({ reason, samples, here, unfinished, ...more }) => [
        reason,
        samples,
        here,
        unfinished,
        more.atZero,
        more.aboveZero,
      ]),
    ).toEqual([
      ["b", 7, 3, 3, 2, 5],
      ["a", 1, 1, 0, 0, 1],
    ]);
    expect([generated, generatedHere]).toEqual([20, 10]);
  });
  it("has bars of shares that stand for one step, or for several", () => {
    expect(bars(REPLY, steps(2), ["b", "a"], 10)).toEqual([
      { first: 0, last: 0, shares: [0.3, 0.1] },
      { first: 2, last: 2, shares: [0.4, 0] },
    ]);
    const few = bars(REPLY, steps(9), ["b", "a"], 3);
    expect(few.map(({ first, last }) => [first, last])).toEqual([
      [0, 4],
      [6, 10],
      [12, 16],
    ]);
    expect(few[0]?.shares[0]).toBeCloseTo(7 / 30);
    expect(bars(REPLY, steps(0), ["b"], 3)).toEqual([]);
  });
  it("never says all or nothing of what is neither", () => {
    expect([
      percent(0, 5),
      percent(1, 100_000),
      percent(1, 3),
      percent(99_999, 100_000),
      percent(5, 5),
      percent(0, 0),
    ]).toEqual(["0%", "< 0.1%", "33%", "> 99.9%", "100%", "0%"]);
  });
});

it("explains the usual reasons, and no others", () => {
  expect(meaningOf("zero_advantage")).toContain("rewards of the group are equal");
  expect(meaningOf("run_ended")).toContain("the run ended");
  expect(meaningOf("stale")).toContain("too old");
  expect(meaningOf("overlong_prompt")).toBe("too long");
  expect(meaningOf("failed")).toBe(""); // by the grader, the environment or the generation
  expect(meaningOf("my_own_filter")).toBe("");
});
