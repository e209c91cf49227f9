import { expect, it } from "vitest";
import type { Curve } from "../../charts";
import { dashesOf } from "./dashes";

const of = (...smooth: (number | null)[]): Curve => ({
  steps: smooth.map((_, i) => i),
  mean: smooth,
  smooth,
  std: [],
});

/** The parts of 16 pixels that a line fills. */
const filled = (dash: readonly number[]): number => dash[0] ?? 16;

it("a line that lies on another lets it be seen through its gaps", () => {
  const [right, mixed, wrong] = dashesOf([of(0, 0, 0, 0.1), of(1, 1, 1, 0.9), of(0, 0, 0, 0)]);
  expect([right, mixed]).toEqual([[], []]);
  expect(wrong).toEqual([8, 8]);
});

it("of many lines in one place each still shows", () => {
  const shown = dashesOf([of(0, 0), of(0, 0), of(1, 1), of(0, 0), of(0, 0)]).map(filled);
  expect(shown).toEqual([16, 8, 16, 4, 2]);
});

it("lines that only meet are whole, and so are those without values", () => {
  expect(dashesOf([of(0, 1, 2, 3), of(3, 2, 1, 3), null, of(null, null, null, null)])).toEqual([[], [], [], []]);
});
