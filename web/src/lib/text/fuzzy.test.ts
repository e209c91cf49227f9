import { describe, expect, it } from "vitest";
import { fit } from "./fuzzy";

const best = (pattern: string, ...texts: string[]): string | undefined =>
  texts
    .flatMap((text) => (fit(pattern, text) === null ? [] : [{ text, score: fit(pattern, text)?.score ?? 0 }]))
    .toSorted((a, b) => b.score - a.score)[0]?.text;

describe("finding by a few letters", () => {
  it("fits everything with no letters, and nothing with letters that are not there", () => {
    expect(fit("", "anything")).not.toBeNull();
    expect(fit("xyz", "next step")).toBeNull();
    expect(fit("pets", "step")).toBeNull();
  });
  it("finds words in any order, and the starts of words", () => {
    expect(fit("step next", "next step")).not.toBeNull();
    expect(fit("ns", "next step")?.at).toEqual([0, 5]);
    expect(fit("prs", "previous step")).not.toBeNull();
    expect(best("st", "last", "next step", "settings")).toBe("next step");
  });
  it("prefers whole words to scattered letters, and starts to middles", () => {
    expect(best("raw", "transcript or raw record", "redraw", "reward")).toBe("transcript or raw record");
    expect(best("run", "rerun", "run")).toBe("run");
  });
  it("ends soon on a long text", () => {
    expect(fit("ab".repeat(50), "a".repeat(100_000))).toBeNull();
  });
});
