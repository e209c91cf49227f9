import { describe, expect, it } from "vitest";
import { CELL_PX, columnsOn, labelEvery, line, markOf, moved, describeCell } from "./gridCells";

describe("a cell", () => {
  it("says what became of a prompt", () => {
    expect([markOf(-1, 0), markOf(0, 0), markOf(4, 0), markOf(4, 1), markOf(4, 4)]).toEqual([
      "absent",
      "untold",
      "none",
      "some",
      "all",
    ]);
    expect([describeCell(-1, 0, 5), describeCell(0, 0, 5), describeCell(4, 1, 1200)]).toEqual([
      "step 5: not asked",
      "step 5: no answer has a value",
      "step 1,200: 1 of 4 correct",
    ]);
  });
});

describe("a grid", () => {
  it("draws the columns on the screen and a few beyond", () => {
    expect(columnsOn(0, 240, 500)).toEqual({ first: 0, stop: 16 });
    expect(columnsOn(100 * CELL_PX, 240, 500)).toEqual({ first: 94, stop: 116 });
    expect(columnsOn(1e6, 240, 5)).toEqual({ first: 5, stop: 5 });
  });
  it("leaves out numbers that would run into each other", () => {
    expect([labelEvery([0, 5, 10]), labelEvery([0, 1000, 2000]), labelEvery([])]).toEqual([1, 2, 1]);
    expect(labelEvery(Array.from({ length: 300_000 }, (_, step) => step))).toBe(3);
  });
  it("is walked by keys, never beyond its ends", () => {
    expect(moved("ArrowDown", { row: 8, column: 2 }, 9, 4)).toEqual({ row: 8, column: 2 });
    expect(moved("PageUp", { row: 8, column: 2 }, 9, 4)).toEqual({ row: 0, column: 2 });
    expect(moved("End", { row: 8, column: 2 }, 9, 4)).toEqual({ row: 8, column: 3 });
    expect(moved("ArrowLeft", { row: 0, column: 0 }, 0, 0)).toEqual({ row: 0, column: 0 });
    expect(moved("x", { row: 0, column: 0 }, 9, 4)).toBeNull();
  });
  it("draws lines with gaps", () => {
    expect(line([0, null, 1, 0.5], [0, 1, 2, 4])).toBe("M0.0000 1.0000h0M0.5000 0.0000h0L1.0000 0.5000");
    expect(line([0.25], [7])).toBe("M0.5000 0.7500h0");
  });
});
