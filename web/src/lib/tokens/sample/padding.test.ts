import { describe, expect, it } from "vitest";
import { NO_PAD, type PaddedTokens, type PadTokens, paddingOf, paddingWords } from "./padding";

const tokens = (
  strings: readonly string[],
  more: Partial<PaddedTokens> = {},
  valued: readonly number[] = [],
): PaddedTokens => ({
  total: strings.length,
  id: () => null,
  string: (token) => strings[token] ?? null,
  attentionMask: null,
  lossMask: null,
  hasValue: (token) => valued.includes(token),
  ...more,
});
const LETTERS = [..."ppabpp"];
const chosen = (text: string): PadTokens => ({ ...NO_PAD, chosen: text });

describe("padding at either end of a sample", () => {
  it("is what the attention mask leaves out, whatever else says otherwise", () => {
    const attentionMask = Float64Array.of(0, 1, 1, 1, 1, 0);
    const found = paddingOf(tokens(LETTERS, { attentionMask }), { recorded: "p", chosen: "b" });
    expect(found).toEqual({ first: 1, stop: 5, by: "attention mask" });
  });
  it("is the pad token of the record, else that of the settings, by id or as a string", () => {
    expect(paddingOf(tokens(LETTERS), { recorded: "p", chosen: "b" })).toMatchObject({ first: 2, stop: 4 });
    expect(paddingOf(tokens(LETTERS), chosen("p"))).toMatchObject({ first: 2, stop: 4 });
    const ids = tokens(LETTERS, { id: (token) => [0, 7, 7, 7, 0, 0][token] ?? null });
    expect(paddingOf(ids, { recorded: 0, chosen: "" })).toEqual({ first: 1, stop: 4, by: "recorded pad token" });
    expect(paddingOf(ids, chosen("0")).by).toBe("pad token of the settings");
  });
  it("is never under the loss mask: the end of a response may be the same token", () => {
    const lossMask = Float64Array.of(0, 0, 1, 1, 1, 0);
    expect(paddingOf(tokens(LETTERS, { lossMask }), chosen("p"))).toMatchObject({ first: 2, stop: 5 });
  });
  it("is guessed without them: tokens called so, and what repeats at the end, without a value", () => {
    const named = ["<pad>", "a", "b", "<|PAD|>", "<pad>"];
    expect(paddingOf(tokens(named), NO_PAD)).toEqual({ first: 1, stop: 3, by: "guess" });
    expect(paddingOf(tokens(named, {}, [0, 4]), NO_PAD)).toMatchObject({ first: 0, stop: 5 });
    expect(paddingOf(tokens([..."aabcc"]), NO_PAD)).toMatchObject({ first: 0, stop: 3 });
    expect(paddingOf(tokens([..."abc"]), NO_PAD)).toMatchObject({ first: 0, stop: 3 });
  });
  it("is never everything", () => {
    expect(paddingOf(tokens([..."ppp"]), chosen("p"))).toMatchObject({ first: 0, stop: 3 });
  });
  it("has words that say what was left out", () => {
    expect(paddingWords({ first: 2, stop: 4, by: "attention mask" }, 6)).toBe(
      "2 at the start and 2 at the end left out: padding by the attention mask",
    );
    expect(paddingWords({ first: 0, stop: 4, by: "guess" }, 5)).toBe("1 at the end left out: they look like padding");
    expect(paddingWords({ first: 0, stop: 5, by: "guess" }, 5)).toBe("");
  });
});
