import { expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { changesOf, sharedSplits } from "./options";

const run = (...names: string[]) => ({ splits: names.map((name) => ({ name })) }) as unknown as RunItem;

it("compares runs on the splits that all of them have, and all evaluations on the common ones", () => {
  const runs = [run("train", "eval/a", "eval/b"), run("eval/b", "eval/c")];
  expect(sharedSplits(runs, "eval")).toEqual(["eval/b"]);
  expect(sharedSplits(runs, "train")).toEqual([]);
  expect(sharedSplits([run("eval/b")], "eval")).toEqual(["eval/b"]);
});

it("says in words how many prompts gain, lose and stay", () => {
  const many = "6 prompts gain, 1,228 lose and 166 stay the same, of 1,400";
  expect(changesOf({ gain: 6, lose: 1228, stay: 166 })).toBe(many);
  expect(changesOf({ gain: 1, lose: 1, stay: 1 })).toBe("1 prompt gains, 1 loses and 1 stays the same, of 3");
  expect(changesOf({ gain: 0, lose: 0, stay: 2 })).toBe("0 prompts gain, 0 lose and 2 stay the same, of 2");
});
