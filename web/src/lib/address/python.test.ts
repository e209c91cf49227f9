import { describe, expect, it } from "vitest";
import { bookmarksCall, inWords, literal, samplesCall } from "./python";

describe("the Python of a view", () => {
  it("says what narrows it, and nothing else", () => {
    expect(
      samplesCall("/runs/a b", {
        split: "eval/x",
        step: 3,
        trained: false,
        where: 'env = "m"',
        sort: "reward",
        descending: true,
      }),
    ).toBe(
      'import rolloupe\n\nrun = rolloupe.open("/runs/a b")\n' +
        'samples = run.samples(split="eval/x", step=3, trained=False, where="env = \\"m\\"", ' +
        'sort="reward", descending=True)\n',
    );
    expect(samplesCall("/r", {})).toContain("run.samples()");
    expect(bookmarksCall("/r")).toContain("run.bookmarks()");
  });
  it("is told in words", () => {
    expect(inWords({ split: "train", step: 1200, trained: true })).toBe("train · step 1,200");
    expect(inWords({ split: "eval/x", step_min: 3, step_max: 9, trained: false, where: "reward < 0.1" })).toBe(
      "eval/x · steps 3 to 9 · discarded · reward < 0.1",
    );
    expect([inWords({ step_min: 3 }), inWords({ step_max: 0 }), inWords({})]).toEqual([
      "every split · steps from 3 on",
      "every split · steps up to 0",
      "every split · all steps",
    ]);
  });
  it("holds no text that could end it", () => {
    expect(literal('"\\\n\u2028\u202e')).toBe('"\\"\\\\\\n\\u2028\\u202e"');
  });
});
