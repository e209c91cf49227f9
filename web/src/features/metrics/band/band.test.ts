import { describe, expect, it } from "vitest";
import { bandOf, wordsOfBand } from "./band";

describe("the band around a curve", () => {
  it("is one standard deviation, another number of them, two percentiles, or none", () => {
    expect(bandOf({})).toEqual({ scale: 1, between: "", text: "1" });
    expect(bandOf({ band: "0" }).scale).toBe(0);
    expect(bandOf({ band: "1.5" })).toEqual({ scale: 1.5, between: "", text: "1.5" });
    expect(bandOf({ band: "p5-p95" })).toEqual({ scale: 1, between: "p5-p95", text: "p5-p95" });
    expect(["p1-p99", "-1", "NaN", "1e9", "wide"].map((band) => bandOf({ band }).text)).toEqual(Array(5).fill("1"));
  });
  it("says what it is", () => {
    expect(["", "2", "1.5", "p25-p75"].map((band) => wordsOfBand(bandOf({ band })))).toEqual([
      "± std",
      "± 2 std",
      "± 1.5 std",
      "p25 to p75",
    ]);
  });
});
