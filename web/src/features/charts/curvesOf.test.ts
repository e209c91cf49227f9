import { describe, expect, it } from "vitest";
import { type Curve, curvesOf } from "./curvesOf";

const of = (steps: number[], means: (number | null)[]): Curve => ({ steps, mean: means, std: steps.map(() => 0.5) });

describe("curves of several runs", () => {
  it("stand on all of their steps, with nothing where a run has none", () => {
    const [x, mean, smooth, high, low, other] = curvesOf(of([0, 2, 4], [1, null, 3]), 1, [of([1, 2, 9], [5, 6, 7])]);
    expect(x).toEqual([0, 1, 2, 4, 9]);
    expect(mean).toEqual([1, undefined, null, 3, undefined]);
    expect([smooth?.[0], high?.[3], low?.[3]]).toEqual([1, 3.5, 2.5]);
    expect(other).toEqual([undefined, 5, 6, undefined, 7]);
  });
  it("keep a place for a run whose steps are on their way", () => {
    const columns = curvesOf(of([0, 1], [1, 2]), 1, [null]);
    expect(columns.map((column) => column.length)).toEqual([2, 2, 2, 2, 2, 2]);
  });
});
