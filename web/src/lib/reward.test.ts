import { describe, expect, it } from "vitest";
import { shareOf } from "./reward";

describe("shareOf", () => {
  it("goes from the worst value to the best, whichever is greater", () => {
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 0, 4))).toEqual([0, 0.25, 0.75, 1, 1]);
    expect([0, 1, 3, 4, 9].map((value) => shareOf(value, 4, 0))).toEqual([1, 0.75, 0.25, 0, 0]);
    expect([shareOf(null, 4, 0), shareOf(Number.NaN, 0, 4)]).toEqual([null, null]);
  });
});
