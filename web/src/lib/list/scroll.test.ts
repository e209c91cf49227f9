import { describe, expect, it } from "vitest";
import { isScaled, MOST_PX, realOf, revealed, rowsAt, spaceOf, topOf } from "./scroll";

const ROW = 48;
const ROWS = 10_000_000;
const big = spaceOf(ROWS, ROW, 700);
const end = ROWS * ROW - 700;
const last = MOST_PX - 700;

describe("a scroll space", () => {
  it("is as high as its rows while a browser can be", () => {
    const small = spaceOf(1000, ROW, 700);
    expect([small.spacePx, isScaled(small)]).toEqual([48_000, false]);
    expect(realOf(small, 123, 0, 0)).toBe(123);
    expect(topOf(small, 123)).toBe(123);
  });
  it("never grows beyond what browsers can show", () => {
    expect([big.spacePx, isScaled(big)]).toEqual([MOST_PX, true]);
  });
  it("is exact at both ends", () => {
    expect(realOf(big, last, 0, 0)).toBe(end);
    expect(realOf(big, 0, last, end)).toBe(0);
    expect([topOf(big, 0), topOf(big, end)]).toEqual([0, last]);
    expect(rowsAt(big, ROWS, ROW, end, 8)[1]).toBe(ROWS);
    expect(rowsAt(big, ROWS, ROW, 0, 8)[0]).toBe(0);
  });
  it("moves by real rows with wheel and keys, wherever it is", () => {
    const real = 123_456 * ROW;
    const top = topOf(big, real);
    expect(realOf(big, top + 100, top, real)).toBe(real + 100);
    expect(realOf(big, top - 650, top, real)).toBe(real - 650);
  });
  it("moves by share with the scrollbar", () => {
    expect(realOf(big, last / 2, 0, 0)).toBeCloseTo(end / 2, -1);
  });
  it("reaches every row from either end with the wheel alone", () => {
    let real = end - 40 * ROW;
    let top = topOf(big, real);
    for (let turn = 0; turn < 60; turn += 1) {
      const next = Math.min(last, top + 100);
      real = realOf(big, next, top, real);
      top = topOf(big, real);
    }
    expect([real, top]).toEqual([end, last]);
    for (let turn = 0; turn < 60; turn += 1) {
      const next = Math.max(0, top - 100);
      real = realOf(big, next, top, real);
      top = topOf(big, real);
    }
    expect(real).toBe(end - 6000);
  });
  it("shows a row with as little as that takes", () => {
    expect(revealed(big, ROW, 10, 0)).toBe(0);
    expect(revealed(big, ROW, ROWS - 1, 0)).toBe(end);
    expect(revealed(big, ROW, 5, 10_000)).toBe(240);
  });
});
