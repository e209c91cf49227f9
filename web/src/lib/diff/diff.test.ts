import { afterEach, describe, expect, it, vi } from "vitest";
import { difference, inBlocks, type DiffPiece } from "./diff";

const pieceOf = (text: string, kind = "text", turn = 1, role = "assistant"): DiffPiece => ({
  turn,
  role,
  name: "",
  kind,
  text,
});

function marked(a: string, b: string): [string, string] {
  const found = difference([pieceOf(a)], [pieceOf(b)]);
  if ("refused" in found) throw new Error(found.refused);
  const side = (one: typeof found.first): string =>
    one.flatMap(({ stretches }) => stretches.map(({ text, isSame }) => (isSame ? text : `[${text}]`))).join("");
  return [side(found.first), side(found.second)];
}

afterEach(() => vi.restoreAllMocks());

describe("the difference of two answers", () => {
  it("is told in words, numbers and signs", () => {
    expect(marked("the sum is 150.5 now", "the product is 150.7")).toEqual([
      "the [sum] is [150.5 now]",
      "the [product] is [150.7]",
    ]);
    expect(marked("f(x)=1", "f(y)=1")).toEqual(["f([x])=1", "f([y])=1"]);
    expect(marked("don't go", "don't stay")).toEqual(["don't [go]", "don't [stay]"]);
  });
  it("cuts no character in two", () => {
    expect(marked("cafe\u0301 x", "cafe\u0300 x")).toEqual(["[cafe\u0301] x", "[cafe\u0300] x"]);
    expect(marked("a 😀", "a 😁")).toEqual(["a [😀]", "a [😁]"]);
  });
  it("compares scripts without blanks sign by sign", () => {
    expect(marked("答えは三です", "答えは五です")).toEqual(["答えは[三]です", "答えは[五]です"]);
  });
  it("gives back every letter of both sides, under their own kinds", () => {
    const first = [pieceOf("I add.", "think"), pieceOf("\n\n4\u0000\u0000x")];
    const second = [pieceOf("I add twice.", "think"), pieceOf("calc(2)", "tool_call"), pieceOf("5", "text", 3)];
    const found = difference(first, second);
    if ("refused" in found) throw new Error(found.refused);
    const back = (side: typeof found.first) =>
      side.map(({ stretches, ...rest }) => ({ ...rest, text: stretches.map(({ text }) => text).join("") }));
    expect(back(found.first)).toEqual(first);
    expect(back(found.second)).toEqual(second);
    expect(found.by).toBe("words");
  });
  it("goes over to sentences, and gives up, where the time is over", () => {
    let clock = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (clock += 1)); // each step of the search takes a millisecond
    const long = (word: string): DiffPiece[] => [
      pieceOf(Array.from({ length: 30_000 }, (_, i) => `${word}${i}`).join(" ")),
    ];
    expect(difference(long("a"), long("b"), 25)).toMatchObject({ by: "sentences", share: 0 });
    // reads like what stands between the turns
    const odd = pieceOf(`${long("a")[0]?.text ?? ""}.\n\u0000\u0000assistant\u0000text`);
    const found = difference([odd, pieceOf("end")], long("b"), 25);
    expect(
      "refused" in found ? [] : found.first.map(({ stretches }) => stretches.map(({ text }) => text).join("")),
    ).toEqual([odd.text, "end"]);
    const lines = (word: string): DiffPiece[] => [
      pieceOf(Array.from({ length: 30_000 }, (_, i) => `${word}${i}.`).join("\n")),
    ];
    expect(difference(lines("a"), lines("b"), 25)).toHaveProperty("refused");
  });
  it("is put into blocks that end where lines do", () => {
    const lines = ["aaaa", "b\nb", "cccc", "dddd", "e\n", "f"].map((text, i) => ({ text, isSame: i % 2 === 0 }));
    const blocks = inBlocks(lines, 4).map((block) => block.map(({ text }) => text));
    expect(blocks).toEqual([["aaaa", "b\n"], ["b", "cccc"], ["dddd", "e\n"], ["f"]]);
    expect(inBlocks([])).toEqual([[]]);
  });
  it("takes what is alike, or empty, for what it is", () => {
    expect(difference([pieceOf("same")], [pieceOf("same")])).toMatchObject({ share: 1 });
    expect(difference([], [pieceOf("new")])).toMatchObject({ first: [], share: 1 });
  });
});
