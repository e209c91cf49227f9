import { describe, expect, it } from "vitest";
import { preview, unpadded } from "./preview";

describe("how a response begins", () => {
  it("show a response without the tag of its thought", () => {
    expect(preview("<think>\nhm")).toEqual({ text: "hm", isThought: true });
    expect(preview("a <think>")).toEqual({ text: "a <think>", isThought: false });
  });

  it("show the thought where the text is cut before the answer says anything", () => {
    expect(preview("<think>\nhm\n</think>\n<answer>")).toEqual({ text: "hm\n", isThought: true });
    expect(preview("<think>\nhm\n</think>\n<answer> <b>12").text).toBe("<answer> <b>12");
    expect(preview("<think>hm</think> <ans").text).toBe("hm");
    expect(preview(`<think>hm</think> ${"<a> ".repeat(5000)}!`).isThought).toBe(false);
  });
});

it("leaves out a pad token by its text, and what comes before a prompt", () => {
  expect(unpadded("[PAD][PAD]6[PAD]", "[PAD]")).toBe("6");
  expect(unpadded("Be brief. ### Why?", "", "###")).toBe(" Why?");
  expect(unpadded("Why 0?", "0", "###")).toBe("Why 0?");
});
