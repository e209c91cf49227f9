import { describe, expect, it } from "vitest";
import { chunks, lines } from "./chunks";

describe("long text in pieces", () => {
  it("loses nothing and cuts no character in two", () => {
    for (const text of ["", "short", "line\n".repeat(9000), "x".repeat(50_000), "\u{1f600}".repeat(20_000), "a b ".repeat(20_000)]) {
      const pieces = chunks(text);
      expect(pieces.join("")).toBe(text);
      expect(pieces.every((piece) => piece.length <= 16_000)).toBe(true);
      for (const piece of pieces) expect(() => encodeURIComponent(piece)).not.toThrow();
    }
  });
  it("guesses lines from both width and newlines", () => {
    expect(lines("a\nb\nc", 80)).toBe(3);
    expect(lines("x".repeat(800), 80)).toBe(10);
  });
});
