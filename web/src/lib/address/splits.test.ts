import { describe, expect, it } from "vitest";
import type { SplitItem } from "../../api/types.gen";
import { choicesOf, isOf } from "./splits";

const split = (name: string, more: Partial<SplitItem> = {}): SplitItem => ({
  name,
  steps: 2,
  samples: 10,
  discarded: 0,
  first_step: 0,
  last_step: 5,
  reward_min: 0,
  reward_max: 1,
  last_reward: null,
  last_response_tokens: null,
  last_response_chars: null,
  ...more,
});

describe("the splits that can be chosen", () => {
  it("are all evaluations together, too, where there are several", () => {
    const splits = [
      split("train"),
      split("eval/a", { steps: 3, last_step: 9 }),
      split("eval/b", { reward_min: -1, reward_max: "NaN", discarded: null }),
    ];
    const found = choicesOf(splits);
    expect(found.map(({ name }) => name)).toEqual(["train", "eval", "eval/a", "eval/b"]);
    expect(found[1]).toEqual(split("eval", { steps: 3, samples: 20, last_step: 9, reward_min: -1, discarded: null }));
    for (const few of [splits.slice(0, 2), [...splits, split("eval")]]) expect(choicesOf(few)).toBe(few);
  });
  it("stand for the splits of samples", () => {
    expect([
      isOf("eval/a", "eval"),
      isOf("eval/a", "eval/a"),
      isOf("train", "eval"),
      isOf("eval/a", "eval/b"),
      isOf("train", null),
    ]).toEqual([true, true, false, false, false]);
  });
});
