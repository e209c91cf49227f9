import { describe, expect, it } from "vitest";
import { binned } from "./bins";

describe("counts by step in bars", () => {
  it("have one bar a step where there are few, and gaps where nothing is", () => {
    expect(
      binned(
        new Map([
          [3, 2],
          [1, 5],
        ]),
        0,
        4,
        40,
      ).map(({ from, count }) => [from, count]),
    ).toEqual([
      [0, 0],
      [1, 5],
      [2, 0],
      [3, 2],
      [4, 0],
    ]);
  });
  it("share bars where there are many, and lose none", () => {
    const counts = new Map(Array.from({ length: 1000 }, (_, step) => [step, 1] as const));
    const bins = binned(counts, 0, 999, 48);
    expect(bins.length).toBeLessThanOrEqual(48);
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(1000);
    expect(bins.at(-1)?.to).toBe(999);
  });
  it("hold steps that came later, and times in nanoseconds", () => {
    expect(binned(new Map([[12, 1]]), 0, 9, 48)).toHaveLength(13);
    const bins = binned(
      new Map([
        [1.7e18, 4],
        [1.7e18 + 1e12, 6],
      ]),
      1.7e18,
      1.7e18 + 1e12,
      48,
    );
    expect(bins.length).toBeLessThanOrEqual(49);
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(10);
  });
});
