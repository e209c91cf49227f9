import { describe, expect, it } from "vitest";
import { alone, escaped, inColumn, inFlow, type Spelling, spellingOf, textOf } from "./readable";

const texts = (strings: readonly string[]): [Spelling, string[]] => {
  const some = { at: (token: number): string => strings[token] ?? "" };
  const spelling = spellingOf(some, 0, strings.length);
  return [spelling, strings.map((_, token) => textOf(some, token, spelling))];
};

describe("strings of tokens", () => {
  it("are text as they are", () => {
    expect(texts(["Hello", " world", "\n"])).toEqual(["plain", ["Hello", " world", "\n"]]);
  });
  it("in byte-level spelling become text, and a character stands at the token that completes it", () => {
    expect(texts(["Hello", "Ġworld", "Ċ", "Ã©", "ðŁ", "ĺ", "Ģ", "!", "<|im_end|>"])).toEqual([
      "bytes",
      ["Hello", " world", "\n", "é", "", "", "😀", "!", "<|im_end|>"],
    ]);
  });
  it("of SentencePiece become text", () => {
    expect(texts(["▁Hello", "▁▁world", "<0x0A>", "<0xE2>", "<0x88>", "<0x9A>"])).toEqual([
      "pieces",
      [" Hello", "  world", "\n", "", "", "√"],
    ]);
  });
  it("of many samples are read one by one, in the spelling that most tell", () => {
    const strings = ["Ġthen", "Wait", "Ċ", "ðŁ"];
    expect(strings.map(alone(strings))).toEqual([" then", "Wait", "\n", "ðŁ"]);
    expect(["Wait", " then"].map(alone(["Wait", " then"]))).toEqual(["Wait", " then"]);
  });
  it("that are not what their spelling allows stay as they are", () => {
    expect(texts(["Ġa", "語", "Ġ語"])).toEqual(["bytes", [" a", "語", "Ġ語"]]);
  });
  it("never break off what follows bytes that make no character", () => {
    expect(texts(["ĠA", "ðŁ", "x", "Ð", "Ð"])[1].slice(0, 3).join("")).toContain("x");
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
