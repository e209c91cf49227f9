import { describe, expect, it } from "vitest";
import { anyOf, copiedSentences, repeatedSentences } from "./repeats";

describe("sentences", () => {
  it("that stand there twice are found, the most frequent first, and short ones are not", () => {
    const check = "Check: (5*2)+1 = 11.";
    const text = `It is so.\n${check} Yes.\n${check} Yes.\n${check}\nAnd one more! And one more! Once only.`;
    expect(repeatedSentences(text)).toEqual(["Check: (5*2)+1 = 11", "And one more"]);
    expect(text.match(new RegExp(anyOf(repeatedSentences(text)), "g"))).toHaveLength(5);
    expect(repeatedSentences("Only once here. And this too.")).toEqual([]);
  });
  it("of the prompt are found in the response, if they are long", () => {
    const prompt = "How many apples does the wizard have? Be brief now.";
    expect(copiedSentences(prompt, "How many apples does the wizard have? Be brief now. 5.")).toEqual([
      "How many apples does the wizard have",
    ]);
  });
});
