import { expect, it } from "vitest";
import { promptStep as step } from "../../testing/records";
import { barsOf, stepAt } from "./bars";

it("each step has a bar; of too many steps, neighbours share one", () => {
  const steps = [0, 1, 2, 3, 4].map((n) => step(n, { reward_mean: n, discarded: n === 4 ? 8 : 0 }));
  expect(barsOf(steps).map(({ first, mean }) => [first, mean])).toEqual([0, 1, 2, 3, 4].map((n) => [n, n]));
  expect(barsOf(steps, 2)).toEqual([
    { first: 0, stop: 2, mean: 0.5, discarded: 0 },
    { first: 2, stop: 5, mean: 3, discarded: 1 / 3 },
  ]);
  expect(barsOf([step(1, { reward_mean: null })])[0]?.mean).toBeNull();
});

it("a place on the strip is a step", () => {
  expect([-0.1, 0, 0.49, 0.5, 1, 2].map((share) => stepAt(4, share))).toEqual([0, 0, 1, 2, 3, 3]);
});
