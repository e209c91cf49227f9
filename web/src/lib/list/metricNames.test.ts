import { expect, it } from "vitest";
import { bareName, commonPrefix } from "./metricNames";

it("takes what all names begin with, up to a separator", () => {
  expect(commonPrefix(["reward.score", "reward.format"])).toBe("reward.");
  expect(commonPrefix(["env/all/score", "env/all/format"])).toBe("env/all/");
  expect(commonPrefix(["env/all/score", "env/one"])).toBe("env/");
});

it("leaves names alone that have nothing in common, or nothing else", () => {
  expect(commonPrefix(["reward.score", "length"])).toBe("");
  expect(commonPrefix(["reward.score"])).toBe("");
  expect(commonPrefix(["format_reward", "format_length"])).toBe("");
  expect([bareName("reward.score", "reward."), bareName("reward.", "reward."), bareName("score", "")]).toEqual([
    "score",
    "reward.",
    "score",
  ]);
});
