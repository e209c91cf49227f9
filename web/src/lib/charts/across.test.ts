import { describe, expect, it } from "vitest";
import { acrossOf, labelOf, spanOfTime, ticksAcross } from "./across";

const widthOf = (label: string) => label.length * 6;
const labels = (across: "step" | "time" | "number", first: number, last: number, px = 240) =>
  ticksAcross(across, { first, last, px, widthOf }).map((one) => labelOf(across, one));

describe("what stands across", () => {
  it("is the step, a time or a number", () => {
    expect(["", "?kind=elapsed", "trainer.lr", "?kind=cumulative&name=total_tokens"].map(acrossOf)).toEqual([
      "step",
      "time",
      "number",
      "number",
    ]);
  });
  it("has a time in its two largest units", () => {
    expect([0, 0.5, 59, 61, 3600, 5400, 90_000, 86_400 * 3 + 61, -90].map(spanOfTime)).toEqual([
      "0 s",
      "0.5 s",
      "59 s",
      "1 min 1 s",
      "1 h",
      "1 h 30 min",
      "1 d 1 h",
      "3 d",
      "−1 min 30 s",
    ]);
  });
  it("has round times, whatever they span, without overlap", () => {
    expect(labels("time", 0, 7200)).toEqual(["0 s", "30 min", "1 h", "1 h 30 min", "2 h"]);
    expect(labels("time", 0, 95)).toEqual(["0 s", "30 s", "1 min", "1 min 30 s"]);
    expect(labels("time", 0, 86_400 * 4)).toEqual(["0 s", "1 d", "2 d", "3 d", "4 d"]);
    for (let last = 0.01; last < 1e12; last *= 3.7) {
      const all = ticksAcross("time", { first: 0, last, px: 200, widthOf });
      expect(all.length).toBeGreaterThan(0);
      expect(all.length).toBeLessThan(8);
      expect(all.every((one) => one >= 0 && one <= last)).toBe(true);
    }
  });
  it("has round numbers in little room", () => {
    expect(labels("number", 0, 2_000_000)).toEqual(["0", "500K", "1M", "1.5M", "2M"]);
    expect(labels("number", 1e-6, 5e-6)).toEqual(["1.0e−6", "2.0e−6", "3.0e−6", "4.0e−6", "5.0e−6"]);
    expect(labels("number", 3, 3)).toEqual(["3"]);
    expect(labels("number", 1e15, 1.01e15)).toEqual(["1000T", "1002.5T", "1005T", "1007.5T", "1010T"]);
    expect(labels("step", 0, 100)).toEqual(["0", "50", "100"]);
    expect(labels("step", 0, 12_345_678)).toEqual(["0", "5,000,000", "12,345,678"]);
    expect(labels("step", 1e15, 1e15 + 4)).toEqual(["1000T", "…000,001", "…000,002", "…000,003", "…000,004"]);
  });
});
