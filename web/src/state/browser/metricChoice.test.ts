import { expect, it } from "vitest";
import { chart } from "../../lib/charts/chart";
import { chooseMetrics, chosenMetrics, metricChoice, restored } from "./metricChoice";

it("is of one run, comes back, and may be anything", () => {
  chooseMetrics("a", [chart("sample", "reward"), chart("group", "mixed")]);
  chooseMetrics("b", []);
  metricChoice.value = restored(JSON.stringify(metricChoice.value));
  expect(chosenMetrics("a")).toEqual([chart("sample", "reward"), chart("group", "mixed")]);
  expect([chosenMetrics("b"), chosenMetrics("c")]).toEqual([[], null]);
  chooseMetrics("a", null);
  expect(chosenMetrics("a")).toBeNull();
  expect(restored('{"a": 1, "b": ["x", 2, "?name=y"]}')).toEqual({ b: ["x"] });
  expect(restored("[")).toEqual({});
});

it("forgets the run that was chosen for longest ago", () => {
  for (let run = 0; run < 61; run += 1) chooseMetrics(`run ${run}`, []);
  expect([chosenMetrics("run 0"), chosenMetrics("run 1"), chosenMetrics("run 60")]).toEqual([null, [], []]);
});
