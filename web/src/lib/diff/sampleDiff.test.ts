import { describe, expect, it } from "vitest";
import { part, turn } from "../../testing/records";
import { difference } from "./diff";
import { marksOf, sideOf } from "./sampleDiff";

const response = sideOf(
  [turn("assistant", [part("think", "I add."), part("marker", "<|x|>"), part("text", "It is 5 in all.")])],
  "",
  2,
);
const reference = sideOf([turn("assistant", [part("think", "I add."), part("text", "It is 4 in all.")])], "ref");

/** However busy the machine is. */
const UNHURRIED_MS = 60_000;

describe("the words in which a response and its reference differ", () => {
  it("are places in the parts of their turns", () => {
    expect(response.names).toEqual(["2.0", "2.2"]);
    const marked = marksOf(difference(response.pieces, reference.pieces), response, reference);
    expect("spans" in marked ? [...marked.spans] : marked).toEqual([
      ["2.2", [{ at: "2.2", start: 6, stop: 7 }]],
      ["ref0.1", [{ at: "ref0.1", start: 6, stop: 7 }]],
    ]);
    expect(marked).toMatchObject({ by: "words" });
  });
  it("are no special tokens at the end, as markers or as text, and no blanks around them", () => {
    const ended = (text: string, ...rest: ReturnType<typeof part>[]) =>
      sideOf([turn("assistant", [part("text", text), ...rest])], "");
    const words = [{ turn: 0, role: "assistant", name: "", kind: "text", text: "It is 5." }];
    for (const end of ["", "<eos>", "</s>", " <|im_end|>\n<|endoftext|>", "<|custom_stop|>", "\n[EOS]", "<pad><pad>"])
      expect(ended(`It is 5.${end}`).pieces).toEqual(words);
    expect(ended("It is 5.\n", part("marker", "<|im_end|>\n"), part("text", "\n</s>")).pieces).toEqual(words);
    expect(ended("Is <eos> a token").pieces[0]?.text).toBe("Is <eos> a token");
  });
  it("are those of the arguments of a call", () => {
    const call = { name: "add", arguments: '{"x": 1}', id: "", error: "" };
    expect(
      sideOf([turn("assistant", [part("tool_call", "<call/>", { call })])], "").pieces.map(({ text }) => text),
    ).toEqual(['{"x": 1}']);
  });
  it("are not marked if nearly all of them differ, or are too many, or nobody could tell them apart", () => {
    const side = (text: string, prefix: string) => sideOf([turn("assistant", [part("text", text)])], prefix);
    const pieces = (a: string, b: string) =>
      marksOf(difference(side(a, "").pieces, side(b, "ref").pieces, UNHURRIED_MS), side(a, ""), side(b, "ref"));
    expect(pieces("onetwothree fourfivesix", "seven-eight-nine")).toMatchObject({
      refused: expect.stringContaining("differ too much"),
    });
    expect(
      pieces("Nine.", "It is nine, for each divisor of 36 gives one pair, and there are nine of them."),
    ).toHaveProperty("refused");
    expect(
      pieces("It is nine, for", "It is nine, for each divisor of 36 gives one pair, and there are nine of them."),
    ).toHaveProperty("spans");
    const many = (word: string) => Array.from({ length: 1_200 }, (_, i) => `${word} same${i}`).join(" ");
    expect(pieces(many("a"), many("b"))).toMatchObject({ refused: expect.stringContaining("2,400 places") });
    expect(marksOf({ refused: "it took too long" }, response, reference)).toEqual({ refused: "it took too long" });
  });
  it("are none where both say the same", () => {
    expect(marksOf(difference(reference.pieces, reference.pieces), reference, reference)).toMatchObject({
      spans: new Map(),
      share: 1,
    });
  });
});
