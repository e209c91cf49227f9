import { describe, expect, it } from "vitest";
import { sentence } from "./sentence";

describe("words", () => {
  it("become sentences", () => {
    expect(sentence("no samples at step 9")).toBe("No samples at step 9.");
    expect(sentence("Try again.")).toBe("Try again.");
    expect(sentence("")).toBe("");
  });
});
