import { describe, expect, it } from "vitest";
import { bookmarksCall, literal, samplesCall } from "./python";

describe("the Python of a view", () => {
  it("says what narrows it, and nothing else", () => {
    expect(samplesCall("/runs/a b", { split: "eval/x", step: 3, trained: false, where: 'env = "m"', sort: "reward", descending: true })).toBe(
      'import rolloupe\n\nrun = rolloupe.open("/runs/a b")\nsamples = run.samples(split="eval/x", step=3, trained=False, where="env = \\"m\\"", sort="reward", descending=True)\n',
    );
    expect(samplesCall("/r", {})).toContain("run.samples()");
    expect(bookmarksCall("/r")).toContain("run.bookmarks()");
  });
  it("holds no text that could end it", () => {
    expect(literal('"\\\n\u2028\u202e')).toBe('"\\"\\\\\\n\\u2028\\u202e"');
  });
});
