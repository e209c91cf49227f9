import { beforeEach, describe, expect, it } from "vitest";
import { changes, chooseRender, render, restored, richness, turnVerbatim } from "./textOptions";

const USUAL = {
  think: true,
  folded: false,
  markdown: true,
  latex: true,
  code: true,
  markers: true,
  promptMarkers: false,
  system: true,
  padding: true,
  beside: true,
  differences: true,
  visible: false,
};

beforeEach(() => chooseRender(USUAL));

describe("how text is shown", () => {
  it("is rendered unless somebody chose otherwise, and verbatim on demand", () => {
    expect(restored(null)).toEqual(USUAL);
    expect(richness.value).toEqual({ markdown: true, latex: true, code: true });
    expect(changes.value).toBe(0);
    turnVerbatim();
    expect([richness.value, changes.value]).toEqual([null, 3]);
    chooseRender({ visible: true });
    turnVerbatim();
    expect(richness.value).toEqual({ markdown: true, latex: true, code: true });
  });
  it("takes up what was kept, and nothing that does not fit", () => {
    expect(restored('{"markdown": false, "think": false}')).toEqual({
      ...USUAL,
      markdown: false,
      think: false,
    });
    for (const text of ["", "null", "[]", "{", '{"markdown": "yes", "latex": 1}', '{"__proto__": {"markdown": true}}'])
      expect(restored(text)).toEqual(USUAL);
  });
  it("rests from drawing while newlines are marked", () => {
    chooseRender({ latex: false });
    expect(richness.value).toEqual({ markdown: true, latex: false, code: true });
    expect(changes.value).toBe(1);
    chooseRender({ visible: true });
    expect(richness.value).toBeNull();
    expect(render.value.markdown).toBe(true);
  });
});
