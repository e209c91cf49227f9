import { beforeEach, describe, expect, it } from "vitest";
import { changes, chooseRender, promptAfter, render, restored, richness } from "./textOptions";

const USUAL = {
  think: true,
  folded: false,
  markdown: false,
  latex: false,
  code: false,
  markers: true,
  promptMarkers: false,
  system: true,
  padding: true,
  beside: true,
  differences: true,
  visible: false,
  promptAfter: "",
};

beforeEach(() => chooseRender(USUAL));

describe("how text is shown", () => {
  it("is verbatim unless somebody chose otherwise", () => {
    expect(restored(null)).toEqual(USUAL);
    expect(richness.value).toBeNull();
    expect(changes.value).toBe(0);
  });
  it("takes up what was kept, and nothing that does not fit", () => {
    expect(restored('{"markdown": true, "think": false, "promptAfter": "###"}')).toEqual({
      ...USUAL,
      markdown: true,
      think: false,
      promptAfter: "###",
    });
    for (const text of [
      "",
      "null",
      "[]",
      "{",
      '{"markdown": "yes", "latex": 1, "promptAfter": {}}',
      '{"__proto__": {"markdown": true}}',
    ])
      expect(restored(text)).toEqual(USUAL);
    expect(restored(JSON.stringify({ promptAfter: "x".repeat(999) })).promptAfter).toHaveLength(200);
  });
  it("rests from drawing while newlines are marked", () => {
    chooseRender({ markdown: true, code: true });
    expect(richness.value).toEqual({ markdown: true, latex: false, code: true });
    expect(changes.value).toBe(2);
    chooseRender({ visible: true, promptAfter: "x" });
    expect(richness.value).toBeNull();
    expect([render.value.markdown, promptAfter.value]).toEqual([true, "x"]);
  });
});
