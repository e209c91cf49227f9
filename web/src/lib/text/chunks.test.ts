import { describe, expect, it } from "vitest";
import { chunks, cutsLines, lines } from "./chunks";

const MARKS = "\u0301\u0308\u20d7";

describe("long text in pieces", () => {
  it("loses nothing and cuts no character in two", () => {
    for (const text of [
      "",
      "short",
      "line\n".repeat(9000),
      "x".repeat(50_000),
      "\u{1f600}".repeat(20_000),
      "a b ".repeat(20_000),
      MARKS.repeat(3000),
      `${"a\n".repeat(5000)}${MARKS.repeat(90)}`,
    ]) {
      const pieces = chunks(text);
      expect(pieces.join("")).toBe(text);
      expect(pieces.every((piece) => piece.length <= 4000)).toBe(true);
      for (const piece of pieces) expect(() => encodeURIComponent(piece)).not.toThrow();
    }
  });
  it("ends pieces where lines end, else words, and parts no mark from its letter", () => {
    expect(chunks("a line of words\n".repeat(1000)).every((piece) => piece.endsWith("\n"))).toBe(true);
    expect(chunks("words ".repeat(3000)).every((piece) => piece.endsWith(" "))).toBe(true);
    for (const piece of chunks("yx\u0301\u0308z".repeat(3000))) expect(piece).not.toMatch(/^\p{M}/u);
    for (const piece of chunks("\u{1f469}\u200d\u{1f467}".repeat(3000)))
      expect(piece.startsWith("\u{1f469}") || piece.startsWith("\u200d")).toBe(true);
  });
  it("puts little of what takes no width into a piece, as all of it would stand on one line", () => {
    expect(chunks(MARKS.repeat(3000)).every((piece) => piece.length <= 200)).toBe(true);
    expect(chunks("\u202d \u0301".repeat(3000)).every((piece) => piece.length <= 200)).toBe(true);
  });
  it("makes few of what is very long", () => {
    expect(chunks("word and ".repeat(2_000_000)).length).toBeLessThan(5000);
  });
  it("tells where a line stands in two pieces", () => {
    expect(cutsLines("a line of words\n".repeat(1000))).toBe(false);
    expect(cutsLines(`short\n${"x".repeat(5000)}`)).toBe(true);
    expect(cutsLines("x".repeat(4000))).toBe(false);
  });
  it("guesses lines from both width and newlines", () => {
    expect(lines("a\nb\nc", 80)).toBe(3);
    expect(lines("x".repeat(800), 80)).toBe(10);
  });
});
