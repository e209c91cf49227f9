import { expect, it } from "vitest";
import { restored, scaleChoice } from "./tokenView";

it("comes back, and may be anything", () => {
  const scale = { kind: "log", ends: "fixed", low: 0.1, high: 10 };
  const kept = { series: "kl", scales: { kl: scale }, rules: ["dppo"], thresholds: { "dppo.low": 0.3 } };
  expect(restored(JSON.stringify(kept))).toEqual(kept);
  for (const text of [null, "[]", "7", "{", '{"series":1,"scales":[],"rules":"a","thresholds":{"a":"b"}}'])
    expect(restored(text)).toEqual({ series: "", scales: {}, rules: null, thresholds: {} });
  expect(restored('{"scales":{"a":{"kind":"odd"},"b":{"kind":"log","ends":"all","low":null}}}').scales).toEqual({
    b: { kind: "log", ends: "all", low: NaN, high: NaN },
  });
});

it("is the suggested scale unless the reader chose one", () => {
  const choice = restored('{"scales":{"a":{"kind":"log","ends":"all"}}}');
  expect(scaleChoice(choice, "a", "linear")).toMatchObject({ kind: "log", ends: "all" });
  expect(scaleChoice(choice, "b", "symmetric")).toMatchObject({ kind: "symmetric", ends: "clip" });
});
