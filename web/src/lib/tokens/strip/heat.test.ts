import { describe, expect, it } from "vitest";
import { tokenSample } from "../../../testing/tokens";
import { heatRow, telling, worstOf } from "./heat";
import { LEVELS, NO_LEVEL, scaleOf, usualScale } from "../scale";

const SCALE = { kind: "linear" as const, low: 0, high: 10, middle: null, quiet: 0, isDown: false };

function sampleOf(series: Record<string, number[]>) {
  const [values = []] = Object.values(series);
  return tokenSample({ text: values.map((_, token) => ` ${token}`), series });
}

describe("a row of the heat map", () => {
  it("has a cell for each token, or the worst value of several", () => {
    const trained = Uint8Array.of(1, 1, 1, 0, 1, 1);
    const values = Float64Array.of(1, 9, 3, 10, NaN, NaN);
    expect([...worstOf(values, trained, SCALE, 6)]).toEqual([1, 9, 3, NaN, NaN, NaN]);
    expect([...worstOf(values, trained, SCALE, 3)]).toEqual([9, 3, NaN]);
    const two = { ...SCALE, low: -10, middle: 0 };
    expect([...worstOf(Float64Array.of(-8, 2, 1, 3), new Uint8Array(4).fill(1), two, 2)]).toEqual([-8, 3]);
  });
  it("shows of very many tokens the cells whose worst value stands out among the others", () => {
    const values = Array.from({ length: 4000 }, (_, token) => (token % 10) + (token >= 2000 && token < 2100 ? 50 : 0));
    const tokens = sampleOf({ entropy: values });
    const series = tokens.named("entropy");
    if (series === null) throw new Error("there is no series");
    const scale = scaleOf(tokens.ordered(series), usualScale("linear"), "entropy");
    const { levels } = heatRow(series, tokens, scale, 40, true);
    expect([...levels].flatMap((level, cell) => (level > 0 ? [cell] : []))).toEqual([20]);
    expect(levels[20]).toBe(LEVELS);
    expect(new Set(heatRow(series, tokens, scale, 40, false).levels)).not.toContain(0); // the reader's scale stays
    expect(heatRow(series, sampleOf({ entropy: [NaN, 1] }), SCALE, 1, true).levels).not.toContain(NO_LEVEL);
  });
});

describe("the series of the heat map", () => {
  it("are those that differ from token to token, the most telling first, and no flags", () => {
    const tokens = sampleOf({
      other: [1, 2],
      advantages: [1.5, 1.5],
      entropy: [NaN, 1],
      is_masked: [0, 1],
      logprobs: [-1, -2],
      kl: [0, 1],
    });
    const names = (most: number, except: string) => telling(tokens, most, except).map(({ name }) => name);
    expect(names(9, "")).toEqual(["kl", "logprobs", "other"]);
    expect(names(1, "kl")).toEqual(["logprobs"]);
  });
});
