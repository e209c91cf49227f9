import { describe, expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { matchingRuns } from "./runSearch";
import { runItem, splitItem } from "../../testing/records";

const run = (name: string, samples: number, changed_s: number | null): RunItem =>
  runItem({ id: name, name, path: `/work/${name}`, changed_s, splits: [splitItem({ samples })] });

const RUNS = [run("grpo-10", 5, 300), run("ppo-1", 50, null), run("grpo-9", 7, 400)];
const names = (items: readonly RunItem[]): string[] => items.map(({ name }) => name);

describe("the list of runs", () => {
  it("holds those that fit what is typed, by name, format, path or note", () => {
    expect(names(matchingRuns(RUNS, " "))).toEqual(names(RUNS));
    expect(names(matchingRuns(RUNS, "grpo")).toSorted()).toEqual(["grpo-10", "grpo-9"]);
    expect(names(matchingRuns(RUNS, "relax"))).toHaveLength(3);
    expect(matchingRuns(RUNS, "dpo-7")).toEqual([]);
    expect(names(matchingRuns([...RUNS, run("relax-2", 1, 1)], "relax"))[0]).toBe("relax-2");
    expect(names(matchingRuns(RUNS, "grpo relax 9"))).toEqual(["grpo-9"]);
    const joined = { ...run("full", 1, 1), reason: "JSON lines; eval_full beside it is its evaluation" };
    expect(names(matchingRuns([...RUNS, joined], "eval_full"))).toEqual(["full"]);
    expect(names(matchingRuns(RUNS, "gp9"))).toEqual(["grpo-9"]);
  });
  it("holds those whose configuration has a word", () => {
    const configured = new Map([["lr=1e-5", new Set(["ppo-1", "grpo-9"])]]);
    expect(names(matchingRuns(RUNS, "LR=1e-5", configured))).toEqual(["ppo-1", "grpo-9"]);
    expect(names(matchingRuns(RUNS, "lr=1e-5 grpo", configured))).toEqual(["grpo-9"]);
  });
});
