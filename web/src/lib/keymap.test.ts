import { describe, expect, it } from "vitest";
import { actionOf, KEYS, LIST_KEYS } from "./keymap";

describe("keys", () => {
  const press = (key: string, modifiers = {}) =>
    actionOf({ key, ctrlKey: false, altKey: false, metaKey: false, ...modifiers });
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
    expect(press("z")).toBe("worst");
    expect(press("q")).toBeNull();
  });
});
