import { describe, expect, it } from "vitest";
import { type Column, groupPx, laid } from "./strips";

const column = (name: string, words = name): Column => ({ name, words, signs: 6 });
const USUAL = [
  column("reward", "Reward"),
  column("advantage", "Advantage"),
  column("response_tokens", "Tokens"),
  column("reward.format", "format"),
  column("reward.acc", "acc"),
];
const names = (px: number, isFitted = true, samples = 8): string[] =>
  laid({ columns: USUAL, samples, px, isFitted }).strips.map(({ name }) => name);

describe("strips of several columns", () => {
  it("are as many as have room, the first ones first", () => {
    expect(names(334)).toEqual(["reward", "advantage", "response_tokens", "reward.format"]);
    expect(names(400)).toHaveLength(5);
    expect(names(334, true, 16)).toEqual(["reward", "advantage"]);
  });
  it("are the first alone where the list is narrow, beside the prompt as it always stood", () => {
    for (const px of [0, 240, 280]) expect(names(px)).toEqual(["reward"]);
    const { strips, isBeside } = laid({ columns: USUAL, samples: 8, px: 280, isFitted: true });
    expect([isBeside, strips[0]?.px]).toEqual([true, 80]);
  });
  it("are all that the reader chose, in as many lines as that takes", () => {
    expect(names(240, false)).toHaveLength(5);
    const lines = [800, 334, 240].map((px) => laid({ columns: USUAL, samples: 8, px, isFitted: false }));
    expect(lines.map((one) => one.lines)).toEqual([1, 2, 2]);
    expect(lines.map(groupPx)).toEqual([52, 70, 70]);
    expect(laid({ columns: [], samples: 8, px: 334, isFitted: false })).toMatchObject({ strips: [], isBeside: true });
  });
  it("have the first as the largest, and room for the words above them", () => {
    for (const samples of [1, 4, 8, 16, 64, 200]) {
      const [first, ...others] = laid({
        columns: ["reward", "kl", "acc"].map((name) => ({ name, words: "", signs: 0 })),
        samples,
        px: 2000,
        isFitted: true,
      }).strips;
      expect(others.every(({ px }) => px < (first?.px ?? 0))).toBe(true);
    }
    const of = (words: string, px: number) =>
      laid({ columns: [column("reward"), column("kl", words)], samples: 2, px, isFitted: true }).strips[1]?.px ?? 0;
    expect(of("Advantage", 500)).toBeGreaterThan(50);
    const long = "a name that goes on and on and on";
    expect(of(long, 500)).toBeGreaterThan(200);
    expect(of(long, 300)).toBeLessThan(200);
    expect(of(long, 300)).toBeGreaterThan(74);
  });
});
