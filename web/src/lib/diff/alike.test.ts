import { describe, expect, it } from "vitest";
import { alike, ended } from "./alike";

/** The length of the longest common subsequence, by the table that everybody can check. */
function longest(first: readonly string[], second: readonly string[]): number {
  let above = second.map(() => 0);
  for (const one of first) {
    const row: number[] = [];
    second.forEach((other, at) => {
      const diagonal = at === 0 ? 0 : (above[at - 1] ?? 0);
      row.push(one === other ? diagonal + 1 : Math.max(above[at] ?? 0, row[at - 1] ?? 0));
    });
    above = row;
  }
  return above.at(-1) ?? 0;
}

/** Numbers that look random, the same in each run. */
function* dice(): Generator<number, never> {
  for (let state = 7; ; state = (state * 48_271) % 2_147_483_647) yield state;
}

describe("what is alike in two sequences", () => {
  const found = (first: readonly string[], second: readonly string[]) => ended(alike(first, second, 10_000));
  const kept = (words: readonly string[], flags: Uint8Array | undefined) => words.filter((_, at) => flags?.[at] === 1);

  it("is the same on both sides, and as much as possible", () => {
    const random = dice();
    for (let round = 0; round < 400; round += 1) {
      const [some, other] = [round % 23, random.next().value % 31].map((length) =>
        Array.from({ length }, () => `${random.next().value % (2 + (round % 7))}`),
      ) as [string[], string[]];
      const result = found(some, other);
      expect(kept(some, result?.first)).toEqual(kept(other, result?.second));
      expect(kept(some, result?.first).length).toBe(longest(some, other));
    }
  });
  it("is found in small steps, or not at all where the time is over", () => {
    const [first, second] = ["a", "b"].map((letter) => Array.from({ length: 500 }, (_, at) => `${letter}${at}`));
    const work = alike(first ?? [], second ?? [], 10_000);
    expect(work.next().done).toBe(false);
    expect(Array.from(ended(work)?.first ?? [1])).toEqual((first ?? []).map(() => 0));
    expect(ended(alike(first ?? [], second ?? [], 0))).toBeNull();
  });
});
