import { describe, expect, it } from "vitest";
import { indented, shown } from "./json";

describe("JSON in lines", () => {
  it("changes no value: not numbers past 2**53, not NaN, not escapes", () => {
    const text = '{"a":[1152921504606846977,NaN,-1.50e-07,"\\u00e9 \\" {,}"],"b":{},"c":[ ],"d":null}';
    const laid = indented(text);
    expect(laid.split("\n")).toHaveLength(11);
    expect(laid.replaceAll(/\n */g, "").replaceAll('": ', '":')).toBe(text.replace("[ ]", "[]"));
  });
  it("keeps an array of numbers in a line, whatever is around it", () => {
    expect(indented('{"a":[ 1,-2.5 ,\nNaN,null],"b":[[1],[2,3]],"c":["x",1]}').split("\n")).toEqual([
      "{",
      '  "a": [1, -2.5, NaN, null],',
      '  "b": [',
      "    [1],",
      "    [2, 3]",
      "  ],",
      '  "c": [',
      '    "x",',
      "    1",
      "  ]",
      "}",
    ]);
    const numbers = Array.from({ length: 1_000_000 }, (_, i) => i / 7);
    expect(indented(JSON.stringify({ numbers })).split("\n")).toHaveLength(3);
  });
  it("takes no longer for spaces than for anything else", () => {
    const spaces = " ".repeat(300_000);
    expect(indented(`[1${spaces}]`)).toBe("[1]");
    expect(indented(`[1${spaces},${spaces}2]`)).toBe("[1, 2]");
    expect(indented(`[1${spaces}2]`)).toBe(`[1${spaces}2]`);
  });
  it("leaves alone what is not JSON", () => {
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
