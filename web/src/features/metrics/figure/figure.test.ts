import { describe, expect, it } from "vitest";
import { figureOf, figuresOf, statOf, wordsOfFigure } from "./figure";

describe("what a chart draws for each step", () => {
  it("is the mean of samples and tokens, unless a person chooses another number", () => {
    expect(statOf({}, { kind: "sample", stat: "" })).toBe("");
    expect(statOf({ figure: "p95" }, { kind: "sample", stat: "" })).toBe("p95");
    expect(figureOf({ figure: "mean" }, "sample")).toBe("");
    expect(wordsOfFigure("p95", "sample")).toBe("95th percentile");
  });

  it("stays as it is where the kind has no such number", () => {
    expect(statOf({ figure: "p95" }, { kind: "token", stat: "" })).toBe("");
    expect(statOf({ figure: "max" }, { kind: "eval", stat: "score" })).toBe("score");
    expect(figureOf({ figure: "toString" }, "sample")).toBe("");
    for (const kind of ["trainer", "constructor", "__proto__"]) expect(figuresOf(kind)).toEqual([]);
    expect(wordsOfFigure("toString", "token")).toBe("");
    expect(wordsOfFigure("name", "constructor")).toBe("");
  });

  it("has a mean beside a distribution", () => {
    expect(figureOf({ figure: "map" }, "sample")).toBe("map");
    expect(statOf({ figure: "map" }, { kind: "sample", stat: "" })).toBe("");
  });
});
