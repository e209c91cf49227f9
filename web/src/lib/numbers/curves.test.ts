import { describe, expect, it } from "vitest";
import { extent, lonely, path, shrinking, shrunk, smoothed, WHOLE_STEPS } from "./curves";

describe("curves", () => {
  it("keep a constant series as it is, gaps included", () => {
    expect(smoothed([0, 1, 2, 3], [2, 2, null, 2], 10).map((value) => value?.toFixed(9) ?? null)).toEqual([
      "2.000000000",
      "2.000000000",
      null,
      "2.000000000",
    ]);
  });
  it("are smoothed over steps, not over points", () => {
    const keep = 1 - 2 / 11;
    const [, second, third] = smoothed([5, 6, 16], [0, 1, 1], 10);
    expect(second).toBeCloseTo(1 / (1 + keep), 12);
    expect(third).toBeCloseTo((1 + keep ** 10) / (1 + keep ** 10 + keep ** 11), 12);
    expect(smoothed([0, 1000], [0, 1], 10)[1]).toBeCloseTo(1, 12);
    const raw = [3, 1, 4, 1, 5];
    let [sum, weight] = [0, 0];
    const asPoints = raw
      .map((value) => ([sum, weight] = [keep * sum + (1 - keep) * value, keep * weight + (1 - keep)]))
      .map(([a = 0, b = 1]) => a / b);
    smoothed([0, 1, 2, 3, 4], raw, 10).forEach((value, i) => expect(value).toBeCloseTo(asPoints[i] ?? NaN, 12));
  });
  it("have points that no line leads to", () => {
    expect(lonely([1, null, 2, undefined, 3, null, undefined, 4])).toEqual([0, 7]);
    expect(lonely([undefined, 5, undefined])).toEqual([1]);
    expect(lonely([1, 2])).toEqual([]);
    expect(lonely([])).toEqual([]);
  });
  it("have an extent where there is a number", () => {
    expect(extent([null, 3, -1])).toEqual([-1, 3]);
    expect(extent([null])).toBeNull();
    expect(path([], [], 10, 10)).toBe("");
  });
  it("draw at most two points a pixel, and every extreme", () => {
    const xs = Array.from({ length: 100_000 }, (_, i) => i);
    const ys = xs.map((x) => (x === 50_000 ? 99 : Math.sin(x)));
    const drawn = path(xs, ys, 200, 100);
    expect(drawn.split("L").length).toBeLessThanOrEqual(2 * 201 + 1);
    expect(drawn).toContain(" 0.0");
  });
  it("draw numbers whose distance is none: by their halves, and with fewer digits", () => {
    const ys = [1e308, -1e308, 1e308, -1e308];
    expect(path([0, 10, 20, 30], ys, 30, 20)).toBe("M0.0 0.0L10.0 20.0L20.0 0.0L30.0 20.0");
    expect(smoothed([0, 1, 2, 3], [1.7e308, 1.7e308, -1.7e308, 1.7e308], 10).every((one) => Number.isFinite(one))).toBe(
      true,
    );
    expect([
      shrinking([
        [1, null],
        [undefined, -5e307],
      ]),
      shrinking([[1, 1e99]]),
    ]).toEqual([299, 0]);
    const drawn = shrunk(
      [
        [...ys, null],
        [Infinity, undefined],
      ],
      300,
    );
    expect(drawn[0]?.map((one) => (one === null ? null : Number(one?.toPrecision(3))))).toEqual([
      1e8,
      -1e8,
      1e8,
      -1e8,
      null,
    ]);
    expect(Number.isFinite(drawn[1]?.[0])).toBe(true);
  });
  it("stand on an axis whose steps may be sixteen digits long", () => {
    expect(WHOLE_STEPS.slice(0, 4)).toEqual([1, 2, 5, 10]);
    expect(WHOLE_STEPS.at(-1)).toBeGreaterThan(1e15);
  });
});
