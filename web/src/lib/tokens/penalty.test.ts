import { expect, it } from "vitest";
import { omittedPenalty } from "./penalty";

const none = { kl_weight: 0, kl_setting: "", left_out: {}, aggregation: "token_mean" } as const;
const own = { ...none, kl_weight: 0.04, kl_setting: "beta" };

it("names the penalty of the run's loss that an update leaves out", () => {
  expect(omittedPenalty(own, 0.04)).toBe("");
  expect(omittedPenalty(own, 0)).toBe("The KL penalty of the loss (beta = 0.04) is omitted. ");
  expect(omittedPenalty(own, null)).toContain("(beta = 0.04) is omitted, for the record has no ref_logprobs");
  const other = { ...none, left_out: { "loss.kl_tau": 0.001 } };
  expect(omittedPenalty(other, 0)).toBe("The KL penalty of the loss (loss.kl_tau = 0.001) is omitted. ");
});

it("says of an unknown loss that a penalty would be missing", () => {
  expect(omittedPenalty(none, null)).toBe("");
  const unknown = { ...none, aggregation: null };
  expect(omittedPenalty(unknown, 0)).toBe("A KL penalty of the loss, if it has one, is omitted. ");
  expect(omittedPenalty(unknown, 0.1)).toBe("");
});
