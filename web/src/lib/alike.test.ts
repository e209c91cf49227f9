import { expect, it } from "vitest";
import { commonStart, without } from "./alike";

const START = "Solve the problem step by step. Using the numbers ";

it("is where prompts of one template part, at a word", () => {
  expect(commonStart([`${START}31, 4`, `${START}30, 5`, `${START}7`])).toBe(START.length);
  expect(without(`${START}31, 4`, START.length)).toBe("…31, 4");
});

it("is nowhere where texts have little in common, are the same, or one is the start of all", () => {
  expect(commonStart(["What is 2 + 2?", "What is 3 + 3?"])).toBe(0);
  expect(commonStart([START, START])).toBe(0);
  expect(commonStart([START, `${START}7`])).toBe(0);
  expect(commonStart([])).toBe(0);
  expect(without("short", 16)).toBe("short");
});
