import { describe, expect, test } from "vitest";
import type { DistributionReply } from "../../api/types.gen";
import {
  between,
  cellAt,
  csvOf,
  greatestIn,
  greatestShare,
  neighbourOf,
  padded,
  shadeOf,
  shareAt,
  withoutOutliers,
  wordsAt,
} from "./heatMap";

const MAP: DistributionReply = {
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

  test("has the columns of the chosen steps", () => {
    const wide = { ...MAP, first_steps: [0, 4, 8], last_steps: [3, 7, 8], counts: [[1], [2], [3]] };
    expect(between(wide, [3, 5])).toMatchObject({ first_steps: [0, 4], last_steps: [3, 7], counts: [[1], [2]] });
    expect(between(wide, [7.5, 9])).toMatchObject({ first_steps: [8], last_steps: [8], counts: [[3]] });
    for (const range of [null, [9, 12], [-3, -1]] as const) expect(between(wide, range)).toBe(wide);
  });

  test("has a scale up to its greatest share", () => {
    expect(greatestShare(MAP)).toBe(1);
    expect(
      greatestShare({
        ...MAP,
        counts: [
          [3, 1],
          [0, 0],
        ],
      }),
    ).toBe(0.75);
    expect(greatestShare({ ...MAP, counts: [] })).toBe(0);
  });

  test("ends at the greatest value, not at the end of its bin", () => {
    expect([0.9, null, 0.2, 1].map((most) => greatestIn(MAP, most))).toEqual([0.9, null, null, null]);
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

  test("leaves out the bins of outliers, and counts their samples", () => {
    const edges = [0, 1, 2, 3, 4, 90, 91];
    const far = {
      ...MAP,
      edges,
      counts: [
        [4, 6, 6, 4, 0, 1],
        [4, 6, 6, 4, 0, 0],
      ],
    };
    const { map, leftOut } = withoutOutliers(far, 1.5);
    expect(leftOut).toBe(1);
    expect(map.edges).toEqual([0, 1, 2, 3, 4]);
    expect(map.counts).toEqual([
      [4, 6, 6, 4],
      [4, 6, 6, 4],
    ]);
    expect(withoutOutliers(far, 0)).toEqual({ map: far, leftOut: 0 });
    const equal = {
      ...MAP,
      counts: [
        [9, 1],
        [9, 0],
      ],
    };
    expect(withoutOutliers(equal, 1.5), "with equal quartiles all of it stays").toEqual({ map: equal, leftOut: 0 });
  });

  test("keeps the bins of the first columns, where a run learns", () => {
    const edges = [-90, -50, -10, 0, 1, 2, 3, 4, 90];
    const steady = [0, 0, 0, 4, 6, 6, 4, 0];
    const counts = [[0, 9, 0, 0, 0, 0, 0, 0], [0, 0, 9, 0, 0, 0, 0, 0], ...Array.from({ length: 9 }, () => steady)];
    const late = [...counts, [1, 0, 0, 4, 6, 6, 4, 1]];
    expect(withoutOutliers({ ...MAP, edges, counts: late }, 1.5).map.edges).toEqual([-50, -10, 0, 1, 2, 3, 4, 90]);
  });

  test("has a line of its file for each cell with samples", () => {
    expect(csvOf(MAP)).toBe("first_step,last_step,from,to,samples\n0,3,0,0.5,3\n0,3,0.5,1,1\n4,4,0.5,1,8\n");
  });

  test("has empty bins around equal values, which are a line then", () => {
    const equal = padded({ ...MAP, edges: [3, 3.5], counts: [[9], [8]] });
    expect(equal.edges).toEqual([1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5]);
    expect(equal.counts[1]).toEqual([0, 0, 0, 0, 8, 0, 0, 0, 0]);
    const wide = { ...MAP, edges: [3, 4, 5], counts: [[1, 2]] };
    expect(padded(wide)).toBe(wide);
  });
});
