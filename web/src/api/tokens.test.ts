import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BadTokens, decodeTokens } from "./tokens";

/** Made by tests/server/test_token_bytes.py; tests run in `web`. */
function golden(): ArrayBuffer {
  const bytes = readFileSync("../tests/data/wire/tokens.bin");
  return new Uint8Array(bytes).buffer;
}

describe("a page of tokens", () => {
  it("holds what the Python side packed", () => {
    const page = decodeTokens(golden());
    expect([page.id, page.total, page.start, page.count]).toEqual(["train/3/g/0", 9, 2, 5]);
    expect([...(page.ids ?? [])]).toEqual([12, -1, 2_147_483_647, 0, 7]);
    expect([...page.spans.turn]).toEqual([0, 1, 1, 1, 1]);
    expect([...page.spans.part]).toEqual([-1, 0, 0, 1, 1]);
    expect([...page.spans.start]).toEqual([-1, 0, 3, 0, 2]);
    expect([...page.spans.stop]).toEqual([-1, 3, 4, 2, 5]);
    expect([...page.series.keys()]).toEqual(["logprobs", "série \u{1F600}", "prob_delta_difference"]);
    expect([...(page.series.get("logprobs")?.values ?? [])]).toEqual([NaN, -0.1, -Infinity, 1e300, -0]);
    expect(page.series.get("logprobs")).toMatchObject({ title: "Logprob at sampling", origin: "recorded" });
    expect(page.series.get("prob_delta_difference")).toMatchObject({ origin: "difference", scale: "symmetric" });
    expect(page.rules.map(({ name, series }) => [name, series])).toEqual([
      ["ppo", "importance_ratio"],
      ["dppo", "prob_delta"],
    ]);
    const limit = { threshold: "low", value: 0.2, side: "low", signs: ["down"], base: 1, factor: -1 };
    expect(page.rules[0]?.limits[0]).toEqual(limit);
    expect([page.spelling, page.partial]).toEqual(["bytes", { "7": "F0 9F" }]);
    expect([0, 1, 2, 3, 4].map((place) => page.text?.(place))).toEqual(["", "Ġab", "é", "\u{1F600}", "\n"]);
  });
  it("is a view of the answer: nothing is copied", () => {
    const buffer = golden();
    expect(decodeTokens(buffer).series.get("logprobs")?.values.buffer).toBe(buffer);
  });
  it("is refused where it breaks off or is of another version", () => {
    const buffer = golden();
    for (const size of [0, 15, 16, 200, buffer.byteLength - 8])
      expect(() => decodeTokens(buffer.slice(0, size))).toThrow(BadTokens);
    const other = golden();
    new Uint8Array(other)[4] = 1;
    expect(() => decodeTokens(other)).toThrow("another version");
  });
});
