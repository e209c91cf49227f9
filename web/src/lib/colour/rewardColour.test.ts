import { describe, expect, it } from "vitest";
import { rangeOf, share, shareOf, stop } from "./rewardColour";

describe("colours of rewards", () => {
  it("take the usual ranges where they hold all", () => {
    expect(rangeOf(0.2, 0.9)).toEqual({ low: 0, high: 1 });
    expect(rangeOf(-1, 1)).toEqual({ low: -1, high: 1 });
    expect(rangeOf(0, 1.5)).toEqual({ low: 0, high: 1.5 });
  });
  it("place a value, and nothing that is no number", () => {
    expect(share(0.5, { low: 0, high: 1 })).toBe(0.5);
    expect(share(9, { low: 0, high: 1 })).toBe(1);
    expect(share(NaN, { low: 0, high: 1 })).toBeNull();
    expect(stop(1)).toBe(4);
  });
});

describe("shareOf", () => {
  it("goes from the worst value to the best, whichever is greater", () => {
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 0, 4))).toEqual([0, 0.25, 0.75, 1, 1]);
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 4, 0))).toEqual([1, 0.75, 0.25, 0, 0]);
    expect([shareOf(null, 4, 0), shareOf(Number.NaN, 0, 4)]).toEqual([null, null]);
  });
});
