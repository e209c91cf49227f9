import { describe, expect, it } from "vitest";
import { rangesOf } from "./paint";

function host(...texts: string[]): Element {
  const element = document.createElement("div");
  for (const text of texts) {
    const piece = document.createElement("div");
    piece.append(text);
    element.append(piece);
  }
  return element;
}

const ends = (range: Range): [string, number, string, number] => [
  range.startContainer.nodeValue ?? "",
  range.startOffset,
  range.endContainer.nodeValue ?? "",
  range.endOffset,
];

describe("ranges of places in a text", () => {
  it("are found over the pieces that it is drawn in", () => {
    const places = [
      { start: 0, stop: 2 },
      { start: 1, stop: 5 },
      { start: 6, stop: 9 },
    ];
    expect(rangesOf(host("abc", "def", "ghi"), places).map(ends)).toEqual([
      ["abc", 0, "abc", 2],
      ["abc", 1, "def", 2],
      ["ghi", 0, "ghi", 3],
    ]);
  });
  it("are none beyond the text", () => {
    expect(rangesOf(host("abc"), [{ start: 1, stop: 9 }])).toEqual([]);
    expect(rangesOf(host(), [{ start: 0, stop: 1 }])).toEqual([]);
    expect(rangesOf(host("abc"), [])).toEqual([]);
  });
});
