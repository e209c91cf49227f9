import { describe, expect, it } from "vitest";
import { bandsOf, type Curve, curveOf, curvesOf, positive, rowsOf } from "./curvesOf";

const of = (steps: number[], means: (number | null)[]): Curve => ({
  steps,
  mean: means,
  smooth: means,
  std: steps.map(() => 0.5),
});

const NO_X = { reach: null, x: null, without_x: 0, x_start_s: null, with_value: null, samples: null };

describe("curves of several runs", () => {
  it("stand on all of their steps, with nothing where a run has none", () => {
    const [x, mean, smooth, high, low, other] = curvesOf(of([0, 2, 4], [1, null, 3]), [of([1, 2, 9], [5, 6, 7])]);
    expect(x).toEqual([0, 1, 2, 4, 9]);
    expect(mean).toEqual([1, undefined, null, 3, undefined]);
    expect([smooth?.[0], high?.[3], low?.[3]]).toEqual([1, 3.5, 2.5]);
    expect(other).toEqual([undefined, 5, 6, undefined, 7]);
  });
  it("have their own bands where they are means of groups", () => {
    const others = [of([0, 1], [5, 6]), null, { ...of([0, 1], [8, null]), hasBand: true }];
    const [, , , , , ...rest] = curvesOf(of([0, 1], [1, 2]), others);
    expect(bandsOf(others, rest)).toEqual([{ at: 2, high: [8.5, null], low: [7.5, null] }]);
  });
  it("have the moving average of the server, which knows every point", () => {
    const data = {
      ...NO_X,
      run: "a",
      curve: 0,
      spread: null,
      low: null,
      high: null,
      points: 40_000,
      left_out: 0,
      error: "",
    };
    const thinned = { ...data, steps: [0, 9, 20], values: [0, 9, "nan"], smooth: [1, 1.5, "nan"] };
    const [, , smooth, , , other] = curvesOf(curveOf(thinned), [curveOf({ ...thinned, smooth: [2, 2.5, 3] })]);
    expect(smooth).toEqual([1, 1.5, null]);
    expect(other).toEqual([2, 2.5, 3]);
    expect(curvesOf(curveOf({ ...thinned, smooth: null }))[2]).toEqual([0, 9, null]);
  });
  it("have the band that they name in the place of their spread", () => {
    const edges = { low: [0, 0.5], high: [3, "nan"] };
    const [, , , high, low] = curvesOf({ ...of([0, 1], [1, 2]), edges });
    expect([high, low]).toEqual([
      [3, null],
      [0, 0.5],
    ]);
  });
  it("stand in the order of what is across, a row for each point, and every row knows its step", () => {
    const own = { ...of([0, 1, 2, 3], [10, 11, null, 13]), x: [5, 1, 1, 3] };
    const { columns, steps } = rowsOf(own, [{ ...of([0, 7], [20, 27]), x: [1, 4] }]);
    const [x, mean, , , , other] = columns;
    expect(x).toEqual([1, 1, 3, 4, 5]);
    expect(steps).toEqual([1, 2, 3, 7, 0]);
    expect(mean).toEqual([11, null, 13, undefined, 10]);
    expect(other).toEqual([20, undefined, undefined, 27, undefined]);
  });
  it("lack on a logarithmic scale what is not positive, and keep their band down to the least value", () => {
    const [x, mean, , high, low, other] = positive(curvesOf(of([0, 1, 2], [0.25, 2, 0]), [of([0, 1, 2], [-1, 3, 4])]));
    expect([x, mean, other]).toEqual([
      [0, 1, 2],
      [0.25, 2, null],
      [null, 3, 4],
    ]);
    expect([high, low]).toEqual([
      [0.75, 2.5, 0.5],
      [0.25, 1.5, null],
    ]);
  });
  it("keep a place for a run whose steps are on their way", () => {
    const columns = curvesOf(of([0, 1], [1, 2]), [null]);
    expect(columns.map((column) => column.length)).toEqual([2, 2, 2, 2, 2, 2, 2]);
  });
});
