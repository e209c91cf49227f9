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
    expect(behind(5, { first: 0, segments })).toEqual([
      { from: 0, stop: 5, role: "the same in both", isModel: false },
      { from: 5, stop: 9, role: "assistant", isModel: true },
      segments[2],
    ]);
    expect(behind(0, { first: 0, segments })).toEqual(segments);
    expect(behind(12, { first: 0, segments })).toHaveLength(1);
    expect(behind(2, { first: 3, segments: segments.slice(1) })[0]).toMatchObject({ from: 3, stop: 5 });
  });
  it("begin behind their padding", () => {
    const padded = tokenSample({ text: ["<pad>", "<pad>", "a", "b"] });
    expect([padded.first, sharedTokens(padded, tokenSample({ text: ["<pad>", "a", "c"] }))]).toEqual([2, 1]);
  });
  it("say in words where they part", () => {
    const to = (count: number, first = 0) => ({ first, count });
    expect(partingWords(1200, to(1500), to(1500))).toContain("first difference is at token 1,200;");
    expect(partingWords(2, to(9, 3), to(9))).toContain("first difference is at token 5;");
    expect(partingWords(3, to(3), to(5))).toContain("This one ends after token 2;");
    expect(partingWords(3, to(5), to(3))).toContain("The other one ends after token 2;");
    expect([partingWords(0, to(5), to(3)), partingWords(3, to(3), to(4, 1)), partingWords(null, to(1), to(1))]).toEqual(
      [
        "They differ from the first token on.",
        "Both have the same tokens.",
        "The records have neither token ids nor strings in common, so nothing is compared.",
      ],
    );
  });
});
