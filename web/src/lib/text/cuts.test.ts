import { expect, it } from "vitest";
import { cuts, visiblePlaces } from "./cuts";

const TEXT = "one two three";
const PLACES = [
  { start: 4, stop: 7 },
  { start: 8, stop: 13 },
];
const shown = (...of: Parameters<typeof cuts>): string =>
  cuts(...of)
    .map(({ text, isMarked }) => (isMarked ? `[${text}]` : text))
    .join("");

it("cuts a text at the edges of its places, and loses no letter", () => {
  expect(shown(TEXT, PLACES)).toBe("one [two] [three]");
  expect(shown(TEXT, [])).toBe(TEXT);
  expect(shown("", PLACES)).toBe("");
});

it("knows a piece of a text by where it begins", () => {
  expect(shown("wo th", PLACES, 5)).toBe("[wo] [th]");
  expect(shown("ree and more", PLACES, 10)).toBe("[ree] and more");
  expect(shown("<think>one two", PLACES, -7)).toBe("<think>one [two]");
  expect(shown("beyond", PLACES, 40)).toBe("beyond");
});

it("follows what is hidden in a text and made visible", () => {
  expect(
    visiblePlaces("a\u202eb\nc d", [
      { start: 1, stop: 3 },
      { start: 6, stop: 7 },
    ]),
  ).toEqual([
    { start: 1, stop: 10 },
    { start: 14, stop: 15 },
  ]);
});
