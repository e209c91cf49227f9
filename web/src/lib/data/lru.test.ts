import { describe, expect, it } from "vitest";
import { Lru } from "./lru";

describe("the memory of what was fetched", () => {
  it("lets go of the oldest and asks once for what is wanted twice", async () => {
    const kept = new Lru<string>(2);
    let asked = 0;
    const load = async (): Promise<string> => {
      asked += 1;
      return "x";
    };
    await Promise.all([kept.get("a", load), kept.get("a", load)]);
    expect(asked).toBe(1);
    await kept.get("b", load);
    await kept.get("c", load);
    expect(kept.peek("a")).toBeUndefined();
    expect(kept.peek("c")).toBe("x");
  });
});
