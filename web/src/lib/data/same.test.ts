import { expect, it } from "vitest";
import { isSame, weight } from "./same";

it("compares records as their JSON would be", () => {
  const record = { a: [1, "x", null, { b: true }], c: "é" };
  expect(isSame(record, structuredClone(record))).toBe(true);
  for (const other of [null, [], {}, { ...record, c: "e" }, { ...record, d: 1 }, { ...record, a: [1, "x", null, {}] }])
    expect(isSame(record, other)).toBe(false);
  expect(isSame({ a: undefined }, { b: undefined })).toBe(false);
});

it("weighs a record by its texts", () => {
  expect(weight({ text: "x".repeat(1000) })).toBeGreaterThan(999);
  expect(weight(null)).toBeLessThan(10);
});
