import { expect, it } from "vitest";
import { packed, spansIn } from "./packing";

it("the last section of a row takes the columns that the others leave", () => {
  expect(spansIn(3, [3, 3, 3, 2])).toEqual([3, 3, 3, 3]);
  expect(spansIn(3, [3, 1, 1])).toEqual([3, 1, 2]);
  expect(spansIn(4, [1, 3, 2, 2])).toEqual([1, 3, 2, 2]);
  expect(spansIn(2, [1, 3, 1])).toEqual([1, 2, 1]);
});

it("a section of few charts is at most twice as wide, and one of many fills its row", () => {
  expect(spansIn(5, [1])).toEqual([2]);
  expect(spansIn(2, [7])).toEqual([2]);
  expect(packed([1, 1])).toEqual([
    { "--count": "1", "--of-2": "1", "--of-3": "1", "--of-4": "1", "--of-5": "1", "--of-6": "1", "--of-8": "1" },
    { "--count": "1", "--of-2": "1", "--of-3": "2", "--of-4": "2", "--of-5": "2", "--of-6": "2", "--of-8": "2" },
  ]);
});
