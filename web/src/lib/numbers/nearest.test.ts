import { describe, expect, it } from "vitest";
import { lastAtMost, nearest } from "./nearest";

describe("ascending values", () => {
  it("finds what is nearest", () => {
    expect(lastAtMost([0, 5, 9], 6)).toBe(1);
    expect(lastAtMost([3], 1)).toBe(-1);
    expect(nearest([0, 10, 20], 16)).toBe(2);
    expect(nearest([], 1)).toBe(-1);
  });
});
