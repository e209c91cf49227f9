import { expect, it } from "vitest";
import { factorOf, wordsOf } from "./points";

it("says which points are left out, and nothing of all points as they are", () => {
  expect(wordsOf({ outliers: 0, skip_first: false, from_zero: false, last: null })).toEqual([]);
  expect(wordsOf({ outliers: 3, skip_first: true, from_zero: true, last: 1200 })).toEqual([
    "without outliers",
    "without the first step",
    "up to step 1,200",
    "shifted to begin at zero",
  ]);
});

it.each([
  ["1.5", 1.5],
  ["", 0],
  ["-1", 0],
  ["1e9", 0],
  ["none", 0],
])("takes a factor for outliers from %j", (text, factor) => {
  expect(factorOf(text)).toBe(factor);
});
