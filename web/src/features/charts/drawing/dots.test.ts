import { expect, it } from "vitest";
import { placeOfDot } from "./dots";

it("the dot is at the last value, or at the value of the step that the title names", () => {
  const [xs, values] = [
    [0, 1, 2, 3],
    [5, undefined, 7, null],
  ] as const;
  expect(placeOfDot(values, xs, null)).toBe(2);
  expect(placeOfDot(values, xs, 0)).toBe(0);
  expect([placeOfDot(values, xs, 3), placeOfDot(values, xs, 9)]).toEqual([-1, -1]);
});
