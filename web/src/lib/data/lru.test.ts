import { describe, expect, it } from "vitest";
import { Lru } from "./lru";

describe("the memory of what was fetched", () => {
  it("lets go of the oldest and asks once for what is wanted twice", async () => {
    const cache = new Lru<string>(2);
    let loads = 0;
    const load = async (): Promise<string> => {
      loads += 1;
      return "x";
    };
    await Promise.all([cache.get("a", load), cache.get("a", load)]);
    expect(loads).toBe(1);
    await cache.get("b", load);
    await cache.get("c", load);
    expect(cache.peek("a")).toBeUndefined();
    expect(cache.peek("c")).toBe("x");
  });
});
