import { describe, expect, it } from "vitest";
import { actionOf, KEYS, LIST_KEYS } from "./keymap";
import { indented, shown } from "./json";
import { preview } from "./preview";
import { ago } from "./time";
import { sentence } from "./words";

describe("words", () => {
  it("become sentences", () => {
    expect(sentence("no samples at step 9")).toBe("No samples at step 9.");
    expect(sentence("Try again.")).toBe("Try again.");
    expect(sentence("")).toBe("");
  });
  it("tell how long ago", () => {
    expect([0, 59.4, 60, 3599, 7200, 200_000].map(ago)).toEqual(["0 s ago", "59 s ago", "1 min ago", "59 min ago", "2 h ago", "2 d ago"]);
  });
  it("show a response without the tag of its thought", () => {
    expect(preview("<think>\nhm")).toEqual({ text: "hm", isThought: true });
    expect(preview("a <think>")).toEqual({ text: "a <think>", isThought: false });
  });
});

describe("JSON in lines", () => {
  it("changes no value: not numbers past 2**53, not NaN, not escapes", () => {
    const text = '{"a":[1152921504606846977,NaN,-1.50e-07,"\\u00e9 \\" {,}"],"b":{},"c":[ ],"d":null}';
    const laid = indented(text);
    expect(laid.split("\n")).toHaveLength(11);
    expect(laid.replaceAll(/\n */g, "").replaceAll('": ', '":')).toBe(text.replace("[ ]", "[]"));
  });
  it("leaves alone what is no JSON", () => {
    for (const text of ["", "]", '{"a', "[1", '{"a": "unfinished \\"']) expect(indented(text)).toBe(text);
  });
  it("survives depth and length", () => {
    expect(indented("[".repeat(50_000) + "]".repeat(50_000)).length).toBeGreaterThan(100_000);
    expect(indented(`"${"\\n".repeat(1_000_000)}"`)).toHaveLength(2_000_002);
  });
  it("shows what stands in a field", () => {
    expect(shown("as it is")).toBe("as it is");
    expect(shown({ a: [1] })).toContain('"a"');
    expect(shown(undefined)).toBe("null");
  });
});

describe("keys", () => {
  const press = (key: string, held = {}) => actionOf({ key, ctrlKey: false, altKey: false, metaKey: false, ...held });
  it("do one thing each", () => {
    const all = KEYS.flatMap(({ keys }) => keys);
    expect(new Set(all).size).toBe(all.length);
    expect(KEYS.every(({ keys, label, words }) => (keys.length === 0 || label !== "") && words !== "")).toBe(true);
    expect(LIST_KEYS.some(({ label }) => label === "Home")).toBe(true);
  });
  it("tell g from G, and leave the browser its own", () => {
    expect(press("g")).toBe("firstStep");
    expect(press("G")).toBe("lastStep");
    expect(press("ArrowLeft", { altKey: true })).toBeNull();
    expect(press("r", { ctrlKey: true })).toBeNull();
    expect(press("x")).toBeNull();
  });
});
