import { describe, expect, it } from "vitest";
import { compact } from "./compact";
import { count, exact, figure, fine, finite, score, signed, size, toNumber, whole } from "./numbers";
import { wordsOfValues } from "./percent";

describe("numbers off the wire", () => {
  it("reads what JSON cannot carry", () => {
    expect(toNumber("NaN")).toBeNaN();
    expect(toNumber("-Infinity")).toBe(-Infinity);
    expect(toNumber("1152921504606846976")).toBe(2 ** 60);
    expect(toNumber("toy")).toBeNull();
    expect(toNumber(null)).toBeNull();
    expect(finite("NaN")).toBeNull();
  });
  it("reads the whole numbers that it wrote, and no others", () => {
    for (const step of [0, -3, 1200, 1e15, Number.MAX_SAFE_INTEGER])
      expect([whole(figure(step)), whole(` ${step}`)]).toEqual([step, step]);
    expect(["", "1.5", "1e3", "1,2", "x", "9007199254740993"].map(whole)).toEqual([null, null, null, null, null, null]);
  });
});

describe("numbers for a person", () => {
  it("separates thousands and keeps whole numbers exact", () => {
    expect(figure(60416)).toBe("60,416");
    expect(figure("1152921504606846977")).toBe("1,152,921,504,606,846,977");
    expect(figure(-1200)).toBe("\u22121,200");
  });
  it("gives three significant figures", () => {
    expect(score(0.65625)).toBe("0.656");
    expect(score(1)).toBe("1.00");
    expect(score(0)).toBe("0.00");
    expect(score(0.0031)).toBe("0.00310");
    expect(score(1234.5)).toBe("1,235");
    expect(score(1e-9)).toBe("1.00e\u22129");
  });
  it("gives five significant figures to a value that is looked at by itself", () => {
    expect([0.638421893, 1.5, 0, 1e-9, 99.97, 12345.6, 2_000_000].map(fine)).toEqual([
      "0.63842", "1.5000", "0.00", "1.0000e\u22129", "99.970", "12,346", "2,000,000",
    ]); // prettier-ignore
    expect([fine(-Infinity), score(99.97), score(999.7)]).toEqual(["\u2212inf", "100", "1,000"]);
  });
  it("names what is not finite and what is not there", () => {
    expect(score("NaN")).toBe("NaN");
    expect(figure("Infinity")).toBe("inf");
    expect(figure("-Infinity")).toBe("\u2212inf");
    expect(figure(null, "none")).toBe("none");
    expect(exact(null)).toBe("none");
  });
  it("signs, counts and measures", () => {
    expect(signed(1.62)).toBe("+1.62");
    expect(signed(-0.5)).toBe("\u22120.500");
    expect(count(1, "step")).toBe("1 step");
    expect(count(1200, "step")).toBe("1,200 steps");
    expect(size(606)).toBe("606 B");
    expect(size(3_110_000)).toBe("3.11 MB");
  });
});

describe("large numbers in little room", () => {
  it("are written as the browser writes compact numbers", () => {
    for (const digits of [2, 3]) {
      const usual = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: digits });
      for (let power = -3; power < 15; power += 1)
        for (const first of [0, 1, 1.04, 1.2, 2.346, 9.4, 9.994, 9.996, -3.17])
          expect(compact(first * 10 ** power, digits)).toBe(usual.format(first * 10 ** power));
    }
    expect(compact(123_456_789, 3)).toBe("123M");
  });
});

it("a share is read in percent, with three figures, and as 100 only where it is all", () => {
  const written = [0, 1, 0.65625, 0.0089, 0.9996, 12.5, -0.25, null].map((one) => wordsOfValues(true)(one, "none"));
  expect(written).toEqual(["0%", "100%", "65.6%", "0.89%", "99.9%", "1250%", "−25%", "none"]);
  expect([0.5, 0, -0.5].map((one) => wordsOfValues(true, true)(one))).toEqual(["+50%", "0%", "−50%"]);
  expect([wordsOfValues(false)(0.5), wordsOfValues(false, true)(0.5)]).toEqual(["0.500", "+0.500"]);
});
