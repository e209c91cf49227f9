import { describe, expect, test } from "vitest";
import type { DistributionReply } from "../../api/types.gen";
import { cellAt, neighbourOf, shadeOf, shareAt, topOf, wordsAt } from "./heatMap";

const MAP: DistributionReply = {
  run: "r",
  version: "1",
  name: "reward",
  split: "train",
  edges: [0, 0.5, 1],
  first_steps: [0, 4],
  last_steps: [3, 4],
  counts: [
    [3, 1],
    [0, 8],
  ],
};

describe("the heat map of a distribution", () => {
  test("finds the cell under a point, low values at the foot", () => {
    expect(cellAt(MAP, 0, 1)).toEqual({ column: 0, bin: 0 });
    expect(cellAt(MAP, 1, 0)).toEqual({ column: 1, bin: 1 });
    expect(cellAt(MAP, 1.1, 0)).toBeNull();
    expect(cellAt({ ...MAP, edges: [], counts: [] }, 0.5, 0.5)).toBeNull();
  });

  test("ends at the greatest value, not at the end of its bin", () => {
    expect([topOf(MAP, 0.9), topOf(MAP, null), topOf(MAP, 0.2), topOf(MAP, 1)]).toEqual([0.9, 1, 1, 1]);
  });

  test("goes on by arrow keys, and stays within its ends", () => {
    expect(neighbourOf(MAP, { column: 0, bin: 0 }, "ArrowUp")).toEqual({ column: 0, bin: 1 });
    expect(neighbourOf(MAP, { column: 0, bin: 0 }, "ArrowLeft")).toEqual({ column: 0, bin: 0 });
    expect(neighbourOf(MAP, { column: 0, bin: 0 }, "x")).toBeNull();
  });

  test("shades by the share of the column", () => {
    expect(shareAt(MAP, { column: 0, bin: 0 })).toBe(0.75);
    expect([0, 1].map(shadeOf)).toEqual([0, 1]);
    expect(shadeOf(0.01)).toBeGreaterThan(0.15);
  });

  test("says the steps, the values and the samples of a cell", () => {
    expect(wordsAt(MAP, { column: 0, bin: 1 })).toBe("steps 0 to 3 · 0.500 to 1.00 · 1 of 4 samples");
    expect(wordsAt(MAP, { column: 1, bin: 1 })).toBe("step 4 · 0.500 to 1.00 · 8 of 8 samples");
  });
});
