import { describe, expect, it } from "vitest";
import { tokenSample } from "../../../testing/tokens";
import { behind, partingWords, sharedTokens } from "./pair";

describe("two samples beside each other", () => {
  it("share the tokens before the first other id, whatever their strings", () => {
    const one = tokenSample({ ids: [1, 2, 3, 4], text: ["a", "b", "c", "d"] });
    expect(sharedTokens(one, tokenSample({ ids: [1, 2, 9, 4], text: ["a", "x", "c", "d"] }))).toBe(2);
    expect(sharedTokens(one, tokenSample({ ids: [1, 2, 3] }))).toBe(3);
    expect(sharedTokens(one, one)).toBe(4);
    expect(sharedTokens(one, tokenSample({ ids: [7] }))).toBe(0);
  });
  it("are compared by strings without ids, and not at all without both", () => {
    const strings = tokenSample({ text: ["a", "b"] });
    expect(sharedTokens(strings, tokenSample({ ids: [1, 2], text: ["a", "c"] }))).toBe(1);
    expect(sharedTokens(strings, tokenSample({ ids: [1, 2] }))).toBeNull();
    expect(sharedTokens(strings, tokenSample({ series: { kl: [1, 2] } }))).toBeNull();
  });
  it("begin where they part, behind a stretch of what they share", () => {
    const segments = [
      { from: 0, stop: 3, role: "user", isModel: false },
      { from: 3, stop: 9, role: "assistant", isModel: true },
      { from: 9, stop: 12, role: "tool", isModel: false },
    ];
    expect(behind(5, segments)).toEqual([
      { from: 0, stop: 5, role: "the same in both", isModel: false },
      { from: 5, stop: 9, role: "assistant", isModel: true },
      segments[2],
    ]);
    expect(behind(0, segments)).toEqual(segments);
    expect(behind(12, segments)).toHaveLength(1);
  });
  it("say in words where they part", () => {
    expect(partingWords(1200, 1500, 1500)).toContain("first difference is at token 1,200;");
    expect(partingWords(3, 3, 5)).toContain("This one ends after token 2;");
    expect(partingWords(3, 5, 3)).toContain("The other one ends after token 2;");
    expect([partingWords(0, 5, 3), partingWords(3, 3, 3), partingWords(null, 1, 1)]).toEqual([
      "They differ from the first token on.",
      "Both have the same tokens.",
      "The records have neither token ids nor strings in common, so nothing is compared.",
    ]);
  });
});
