import { expect, it } from "vitest";
import { sharedBy, without } from "./commonWords";

const question = (numbers: string, target: number): string =>
  `Show your work in tags. Using the numbers ${numbers} create an equation that equals ${target} ` +
  "with basic operations and nothing else.";
const TEXTS = [question("[1, 2],", 3), question("[4, 5],", 20), question("[7, 8],", 56)];

it("leaves what differs of texts of one template", () => {
  const common = sharedBy(TEXTS);
  expect(TEXTS.map((text) => without(text, common))).toEqual(["… [1, 2], … 3", "… [4, 5], … 20", "… [7, 8], … 56"]);
});

it("skips the beginning that most texts share, but not a short one", () => {
  const [one = "", two = ""] = TEXTS;
  const texts = [one, two, "Tom has 3 pears."];
  expect(texts.map((text) => without(text, sharedBy(texts)).slice(0, 12))).toEqual([
    "… [1, 2], cr",
    "… [4, 5], cr",
    "Tom has 3 pe",
  ]);
  const alike = ["Tom has 3 pears", "Tom has 4 figs"];
  expect(alike.map((text) => without(text, sharedBy(alike)))).toEqual(alike);
});

it("leaves nothing behind the last run of a text that was cut off", () => {
  const common = sharedBy(TEXTS);
  expect(without(`${TEXTS[0]?.slice(0, -15)} an ot…`, common)).toBe("… [1, 2], … 3");
});

it("leaves short runs of common words, and texts that share little, as they are", () => {
  const texts = [
    "Tom has 3 pears. How many are left?",
    "Ada has 9 figs. How many are gone?",
    "Mia has 2 nuts. How many are hers?",
  ];
  expect(texts.map((text) => without(text, sharedBy(texts)))).toEqual(texts);
});

it("leaves texts that are the same, few, or nothing but common words", () => {
  expect(sharedBy([TEXTS[0] ?? "", TEXTS[0] ?? "", TEXTS[0] ?? ""]).words.size).toBe(0);
  expect(sharedBy([]).words.size).toBe(0);
  expect(without("a b c d e", { words: new Set(["a", "b", "c", "d", "e"]), start: "" })).toBe("a b c d e");
});
