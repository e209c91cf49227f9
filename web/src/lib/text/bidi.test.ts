import { describe, expect, it } from "vitest";
import { leaks } from "./bidi";

describe("text that could turn its neighbours around", () => {
  it("holds a control of bidirectional writing, or ends a paragraph within right-to-left writing", () => {
    for (const text of ["a\u202eb", "\u2069\u202e", "\u2066", "x\u2029\u05d0", "\u0085\u0628", "\r\u200f1"])
      expect(leaks(text)).toBe(true);
    for (const text of ["", "plain", "a\r\nb", "\u05e9\u05dc\u05d5\u05dd", "\u200f1", "a\u0085b", "\u001b[31m"])
      expect(leaks(text)).toBe(false);
  });
});
