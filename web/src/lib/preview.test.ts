import { describe, expect, it } from "vitest";
import { preview } from "./preview";

describe("how a response begins", () => {
  it("show a response without the tag of its thought", () => {
    expect(preview("<think>\nhm")).toEqual({ text: "hm", isThought: true });
    expect(preview("a <think>")).toEqual({ text: "a <think>", isThought: false });
  });
});
