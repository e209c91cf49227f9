import { describe, expect, it } from "vitest";
import { harmless, specials, visible, visiblePlace } from "./invisible";

describe("what nobody sees", () => {
  it("is made visible, and nothing else changes", () => {
    expect(visible("a\tb\r\nc\u001b[31m\u202ed\u200b\u00a0é\u{1f600}")).toBe(
      "a→\tb␍↵\nc␛[31m⟨U+202E⟩d⟨U+200B⟩⍽é\u{1f600}",
    );
    expect(visible("plain text")).toBe("plain text");
  });
  it("is made visible in words that no element holds, but for white space", () => {
    expect(harmless("a\n\tb\u00a0\u202ec\u2069\u0085\u{e0041}")).toBe("a\n\tb\u00a0⟨U+202E⟩c⟨U+2069⟩⟨U+0085⟩⟨U+E0041⟩");
  });
  it("keeps places", () => {
    const text = "a\nb\u202ec";
    for (let place = 0; place <= text.length; place += 1)
      expect(visible(text).slice(0, visiblePlace(text, place))).toBe(visible(text.slice(0, place)));
  });
  it("knows the special tokens of templates", () => {
    const text = "x<|im_start|>user <s>[INST]a[/INST]</s> <｜User｜> a < b [NOT] <think>";
    expect(specials(text).map(({ start, stop }) => text.slice(start, stop))).toEqual([
      "<|im_start|>",
      "<s>",
      "[INST]",
      "[/INST]",
      "</s>",
      "<｜User｜>",
      "<think>",
    ]);
  });
});
