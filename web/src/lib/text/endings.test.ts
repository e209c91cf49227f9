import { expect, it } from "vitest";
import { part, turn } from "../../testing/records";
import { charsOfTurn, withoutEnding } from "./endings";

it("leaves the words of a text, whatever tokens it ends with", () => {
  expect(["5</s>", "5 <|eot_id|> <eos>\n", "5<｜end▁of▁sentence｜>", "<|im_end|>"].map(withoutEnding)).toEqual([
    "5",
    "5",
    "5",
    "",
  ]);
  expect(["a <b>", "x < 5 |>", "[END]", "</s> is a tag"].map(withoutEnding)).toEqual([
    "a <b>",
    "x < 5 |>",
    "[END]",
    "</s> is a tag",
  ]);
});

it("counts the characters of a turn without its markers and its end", () => {
  expect(
    charsOfTurn(
      turn("assistant", [
        part("marker", "<|im_start|>"),
        part("text", "It is 5.\n"),
        part("marker", "<|im_end|>\n"),
        part("text", "\n"),
      ]),
    ),
  ).toBe(8);
  expect(
    charsOfTurn(turn("assistant", [part("think", "So", { raw: "<think>So</think>" }), part("text", "5<eos>")])),
  ).toBe(18);
  expect(charsOfTurn(turn("assistant", [part("text", "5<eos>", { cut: 100 })], { chars: 106 }))).toBe(106);
  expect(charsOfTurn(turn("assistant", [part("marker", "<|im_end|>")]))).toBe(0);
});
