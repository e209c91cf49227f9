import { expect, it } from "vitest";
import { planOf } from "./plan";

it("finds the planned steps of a run", () => {
  expect(planOf({ settings: { steps: 90, sft: { max_steps: 480 } } })).toEqual({ steps: 90, key: "settings.steps" });
  expect(planOf({ trainer: { total_training_steps: 500 }, steps: 7 })?.key).toBe("trainer.total_training_steps");
  expect(planOf({ environments: { max_steps: 5 }, lr: 1 })).toBeNull();
  expect(planOf({ max_steps: -1, num_steps: null })).toBeNull();
  expect(planOf(null)).toBeNull();
});
