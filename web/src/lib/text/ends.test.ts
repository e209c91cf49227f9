import { describe, expect, it } from "vitest";
import { ends } from "./ends";

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i}\n`).join("");

describe("the ends of a text", () => {
  it("are all of a short one", () => {
    expect(ends(lines(13))).toBeNull();
    expect(ends("")).toBeNull();
    expect(ends(lines(500), Infinity)).toBeNull();
  });
  it("are its first and last lines, and more of the first on demand", () => {
    const text = lines(500);
    const cut = ends(text);
    expect(text.slice(0, cut?.head)).toBe(lines(4));
    expect(text.slice(cut?.tail)).toBe("line 494\nline 495\nline 496\nline 497\nline 498\nline 499\n");
    expect(cut?.lines).toBe(490);
    expect(text.slice(0, ends(text, 50)?.head)).toBe(lines(54));
  });
  it("are short where lines are long, and divide no character", () => {
    const text = "😀".repeat(5_000_000);
    const cut = ends(text);
    expect(cut).not.toBeNull();
    expect((cut?.head ?? 0) % 2).toBe(0);
    expect((cut?.tail ?? 0) % 2).toBe(0);
    expect((cut?.head ?? 0) + text.length - (cut?.tail ?? 0)).toBeLessThan(12_000);
  });
});
