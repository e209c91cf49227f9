import { describe, expect, it } from "vitest";
import { escaped, inColumn, inFlow, partialBytes, type Spelling, textOf } from "./readable";

const texts = (spelling: Spelling, strings: readonly string[]): string[] =>
  strings.map((_, token) => textOf({ at: (place) => strings[place] ?? "" }, token, spelling));

describe("strings of tokens", () => {
  it("are text as they are", () => {
    expect(texts("plain", ["Hello", " world", "Ġ▁\n"])).toEqual(["Hello", " world", "Ġ▁\n"]);
  });
  it("in byte-level spelling become text, and a character stands at the token that completes it", () => {
    expect(texts("bytes", ["Hello", "Ġworld", "Ċ", "Ã©", "ðŁ", "ĺ", "Ģ", "!", "<|im_end|>"])).toEqual([
      "Hello",
      " world",
      "\n",
      "é",
      "",
      "",
      "😀",
      "!",
      "<|im_end|>",
    ]);
  });
  it("of SentencePiece become text", () => {
    expect(texts("pieces", ["▁Hello", "▁▁world", "<0x0A>", "<0xE2>", "<0x88>", "<0x9A>"])).toEqual([
      " Hello",
      "  world",
      "\n",
      "",
      "",
      "√",
    ]);
  });
  it("that are not what their spelling allows stay as they are", () => {
    expect(texts("bytes", ["Ġa", "語", "Ġ語"])).toEqual([" a", "語", "Ġ語"]);
  });
  it("have the bytes of what is not a whole character by itself", () => {
    const bytes = (spelling: Spelling, ...strings: string[]): string[] =>
      strings.map((one) => partialBytes(one, spelling));
    expect(bytes("bytes", "ðŁ", "Ģ", "Ġé", "Ã©", "語")).toEqual(["F0 9F", "80", "20 E9", "", ""]);
    expect(bytes("pieces", "<0xE2>", "<0x0A>", "▁a")).toEqual(["E2", "", ""]);
    expect(bytes("plain", "ðŁ")).toEqual([""]);
  });
  it("never break off what follows bytes that make no character", () => {
    expect(texts("bytes", ["ĠA", "ðŁ", "x", "Ð", "Ð"]).slice(0, 3).join("")).toContain("x");
  });
});

describe("a token", () => {
  it("shows in a text what is invisible, and is cut if it is very long", () => {
    expect(inFlow("a\n\u202e")).toBe("a↵\n⟨U+202E⟩");
    expect(inFlow("x".repeat(1000))).toHaveLength(201);
  });
  it("shows in a card on one line with escapes", () => {
    expect(escaped(' a\n"\\\t')).toBe(String.raw`" a\n\"\\\t"`);
  });
  it("shows in a column its blanks, and that it is empty", () => {
    expect([inColumn("  a b "), inColumn("\n\n"), inColumn("")]).toEqual(["··a b·", "↵↵", "∅"]);
  });
});
