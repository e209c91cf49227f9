import { beforeEach, expect, test, vi } from "vitest";
import { runItem } from "../../testing/records";
import { placeOfRun, runOf, runs, updateRun } from "../../state/runs";

beforeEach(() => {
  vi.useFakeTimers();
  runs.value = null;
});

test("news about many runs of a long list show together, each at its place", () => {
  const all = Array.from({ length: 10_000 }, (_, i) => runItem({ id: `r${i}` }));
  runs.value = all;
  let changes = -1;
  const stop = runs.subscribe(() => (changes += 1));
  const began = performance.now();
  for (const item of all) updateRun({ ...item, version: "2" });
  updateRun(runItem({ id: "new" }));
  vi.runAllTimers();
  stop();
  expect(performance.now() - began).toBeLessThan(5000); // of the fake clock, which shows the wait
  expect(changes).toBe(1);
  expect(runs.value.map(({ id }) => id)).toEqual([...all.map(({ id }) => id), "new"]);
  expect(runs.value.slice(0, -1).every(({ version }) => version === "2")).toBe(true);
});

test("the last news about a run count, and come soon", () => {
  runs.value = [runItem({ id: "a" }), runItem({ id: "b" })];
  updateRun({ ...runItem({ id: "b" }), version: "2" });
  updateRun({ ...runItem({ id: "b" }), version: "3" });
  vi.advanceTimersByTime(100);
  expect(runOf("b")?.version).toBe("3");
  expect(placeOfRun("b")).toBe(1);
  expect(runOf("c")).toBeUndefined();
});
