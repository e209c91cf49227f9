import { describe, expect, it } from "vitest";
import { bandOf, bandsOf, wordsOfBand } from "./band";

describe("the band around a curve", () => {
  it("is one standard deviation, another number of them, two percentiles, or none", () => {
    expect(bandOf({}, false)).toEqual({ scale: 1, between: "", text: "1" });
    expect(bandOf({ band: "0" }, false).scale).toBe(0);
    expect(bandOf({ band: "1.5" }, false)).toEqual({ scale: 1.5, between: "", text: "1.5" });
    expect(bandOf({ band: "p5-p95" }, false)).toEqual({ scale: 1, between: "p5-p95", text: "p5-p95" });
    expect(["p1-p99", "-1", "NaN", "1e9", "wide"].map((band) => bandOf({ band }, false).text)).toEqual(
      Array(5).fill("1"),
    );
  });
  it("is between the extremes of groups in the place of percentiles, and the other way round", () => {
    expect(bandOf({ band: "p25-p75" }, true).text).toBe("min-max");
    expect(bandOf({ band: "min-max" }, false).text).toBe("p5-p95");
    expect(bandsOf(true).map(([text]) => text)).toEqual(["0", "0.2", "0.5", "1", "2", "min-max"]);
  });
  it("says what it is", () => {
    expect(["", "2", "1.5", "p25-p75"].map((band) => wordsOfBand(bandOf({ band }, false)))).toEqual([
      "± std",
      "± 2 std",
      "± 1.5 std",
      "p25 to p75",
    ]);
  });
});
