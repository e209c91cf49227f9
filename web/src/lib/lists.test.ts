import { describe, expect, it } from "vitest";
import { extent, path, smoothed } from "./curves";
import { Lru } from "./lru";
import { rangeOf, share, stop, widened } from "./reward";
import { lastAtMost, nearest } from "./rows";

describe("ascending values", () => {
  it("finds what is nearest", () => {
    expect(lastAtMost([0, 5, 9], 6)).toBe(1);
    expect(lastAtMost([3], 1)).toBe(-1);
    expect(nearest([0, 10, 20], 16)).toBe(2);
    expect(nearest([], 1)).toBe(-1);
  });
});

describe("curves", () => {
  it("keep a constant series as it is, gaps included", () => {
    expect(smoothed([2, 2, null, 2], 10).map((value) => value?.toFixed(9) ?? null)).toEqual(["2.000000000", "2.000000000", null, "2.000000000"]);
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
});

describe("colours of rewards", () => {
  it("take the usual ranges where they hold all", () => {
    expect(rangeOf(0.2, 0.9)).toEqual({ low: 0, high: 1 });
    expect(rangeOf(-1, 1)).toEqual({ low: -1, high: 1 });
    expect(rangeOf(0, 1.5)).toEqual({ low: 0, high: 1.5 });
    expect(widened(null, [])).toBeNull();
  });
  it("place a value, and nothing that is no number", () => {
    expect(share(0.5, { low: 0, high: 1 })).toBe(0.5);
    expect(share(9, { low: 0, high: 1 })).toBe(1);
    expect(share(NaN, { low: 0, high: 1 })).toBeNull();
    expect(stop(1)).toBe(4);
  });
});

describe("the memory of what was fetched", () => {
  it("lets go of the oldest and asks once for what is wanted twice", async () => {
    const kept = new Lru<string>(2);
    let asked = 0;
    const load = async (): Promise<string> => {
      asked += 1;
      return "x";
    };
    await Promise.all([kept.get("a", load), kept.get("a", load)]);
    expect(asked).toBe(1);
    await kept.get("b", load);
    await kept.get("c", load);
    expect(kept.peek("a")).toBeUndefined();
    expect(kept.peek("c")).toBe("x");
  });
});
