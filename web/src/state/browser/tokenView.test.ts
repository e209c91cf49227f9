import { expect, it } from "vitest";
import { restored } from "./tokenView";

it("comes back, and may be anything", () => {
  const scale = { kind: "log", ends: "fixed", low: 0.1, high: 10 };
  const kept = { series: "kl", scales: { kl: scale }, rules: ["dppo"], isMore: true };
  expect(restored(JSON.stringify(kept))).toEqual(kept);
  for (const text of [null, "[]", "7", "{", '{"series":1,"scales":[],"rules":"a"}'])
    expect(restored(text)).toEqual({ series: "", scales: {}, rules: null, isMore: false });
  expect(restored('{"scales":{"a":{"kind":"odd"},"b":{"kind":"log","ends":"all","low":null}}}').scales).toEqual({
    b: { kind: "log", ends: "all", low: NaN, high: NaN },
  });
});
