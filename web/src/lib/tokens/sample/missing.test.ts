import { expect, it } from "vitest";
import { tokenSample } from "../../../testing/tokens";
import { missingOf } from "./missing";

it("is text without a tokenizer, an update without its numbers, and a second sample where there is none", () => {
  const ids = tokenSample({ ids: [1, 2] });
  expect(missingOf(ids, 1, false)).toEqual([
    expect.stringMatching(/^Ids alone: .* rolloupe view … --tokenizer NAME\.$/),
    "No Update: the record has no logprobs of the policy.",
    "No Beside: the sample is the only one of its group.",
  ]);
  expect(missingOf(ids, 8, true)[0]).toContain("rolloupe export html … --tokenizer NAME");
  const text = tokenSample({ text: ["a", "b"], ids: [1, 2], series: { logprobs: [-1, -2] } });
  expect(missingOf(text, 8, false)).toEqual(["No Update: the record has no advantages."]);
  expect(missingOf(text, 8, true)[1]).toMatch(/^No Beside: a report/);
});
