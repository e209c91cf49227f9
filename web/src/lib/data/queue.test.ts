import { describe, expect, it } from "vitest";
import { Queue } from "./queue";

describe("turns", () => {
  it("are few at a time, the last that was asked for first, and not of what nobody wants", async () => {
    const turns = new Queue(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    let isWanted = true;
    const work = (n: number) => async (): Promise<number> => {
      begun.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      return n;
    };
    const all = [0, 1, 2, 3, 4].map(async (n) => turns.take(work(n), () => n !== 3 || isWanted));
    expect(begun).toEqual([0, 1]);
    isWanted = false;
    ends[0]?.();
    await all[0];
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 4]);
    ends[1]?.();
    expect(await all[3]).toBeNull();
    expect(begun).toEqual([0, 1, 4, 2]);
    ends[2]?.();
    ends[3]?.();
    expect(await Promise.all(all)).toEqual([0, 1, 2, null, 4]);
  });
  it("go on where some work fails", async () => {
    const turns = new Queue(1);
    await expect(
      turns.take(
        async () => Promise.reject(new Error("no")),
        () => true,
      ),
    ).rejects.toThrow("no");
    expect(
      await turns.take(
        async () => Promise.resolve(1),
        () => true,
      ),
    ).toBe(1);
  });
});
