import { expect, it } from "vitest";
import { commonWords, without } from "./commonWords";

const question = (numbers: string, target: number): string =>
  `Show your work in tags. Using the numbers ${numbers} create an equation that equals ${target} ` +
  "with basic operations and nothing else.";
const TEXTS = [question("[1, 2],", 3), question("[4, 5],", 20), question("[7, 8],", 56)];

it("leaves what differs of texts of one template", () => {
  const common = commonWords(TEXTS);
  expect(TEXTS.map((text) => without(text, common))).toEqual(["[1, 2], … 3", "[4, 5], … 20", "[7, 8], … 56"]);
});

it("leaves nothing behind the last run of a text that was cut off", () => {
  const common = commonWords(TEXTS);
  expect(without(`${TEXTS[0]?.slice(0, -15)} an ot…`, common)).toBe("[1, 2], … 3");
});

it("leaves short runs of common words, and texts that share little, as they are", () => {
  const texts = [
    "Tom has 3 pears. How many are left?",
    "Ada has 9 figs. How many are gone?",
    "Mia has 2 nuts. How many are hers?",
  ];
  expect(texts.map((text) => without(text, commonWords(texts)))).toEqual(texts);
});

it("leaves texts that are the same, few, or nothing but common words", () => {
  expect(commonWords([TEXTS[0] ?? "", TEXTS[0] ?? "", TEXTS[0] ?? ""]).size).toBe(0);
  expect(commonWords([]).size).toBe(0);
  expect(without("a b c d e", new Set(["a", "b", "c", "d", "e"]))).toBe("a b c d e");
});
