import { expect, it } from "vitest";
import { momentOf } from "./moment";

it("is the first minibatch, and names the policies whose logprobs a ratio compares", () => {
  const ratios = (...names: string[]): string => momentOf(new Set(names)).split(": ")[1] ?? "";
  expect(momentOf(new Set())).toContain("Read at the first minibatch of the step: ");
  expect(ratios("logprobs", "old_logprobs", "trainer_logprobs")).toBe(
    "ratios compare the trainer's logprobs with those before the step.",
  );
  expect(ratios("logprobs", "trainer_logprobs")).toContain("with those at sampling.");
  expect(ratios("logprobs", "old_logprobs")).toContain("no later logprobs than those before the step, so");
  expect(ratios("logprobs")).toContain("no later logprobs than those at sampling, so ratios to them are 1.");
  expect(ratios("trainer_logprobs")).toContain("than those of the trainer, so");
});
