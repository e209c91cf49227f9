import { expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { sharedSplits } from "./options";

const run = (...names: string[]) => ({ splits: names.map((name) => ({ name })) }) as unknown as RunItem;

it("compares runs on the splits that all of them have, and all evaluations on the common ones", () => {
  const runs = [run("train", "eval/a", "eval/b"), run("eval/b", "eval/c")];
  expect(sharedSplits(runs, "eval")).toEqual(["eval/b"]);
  expect(sharedSplits(runs, "train")).toEqual([]);
  expect(sharedSplits([run("eval/b")], "eval")).toEqual(["eval/b"]);
});
