import { expect, it } from "vitest";
import { part, turn } from "../../testing/records";
import { answerOf } from "./answer";

const question = turn("user", [part("text", "Put it in \\boxed{}.")], { origin: "prompt" });
const answer = (...parts: ReturnType<typeof part>[]) => turn("assistant", parts, { origin: "response" });

it("is the last that the model marked", () => {
  expect(
    answerOf([question, answer(part("answer", "1")), answer(part("think", "\\boxed{9}"), part("answer", " 2 "))]),
  ).toBe("2");
  expect(answerOf([question, answer(part("text", "So \\boxed{1} or \\boxed{\\frac{1}{2}}."))])).toBe("\\frac{1}{2}");
});

it("is nothing where none is marked, it does not end, or is long", () => {
  expect(answerOf([question, answer(part("text", "It is 6."))])).toBe("");
  expect(answerOf([answer(part("text", "\\boxed{6"))])).toBe("");
  expect(answerOf([answer(part("answer", "x".repeat(999)))])).toBe("");
});
