import { describe, expect, test } from "vitest";
import { areAlike, barOf, drawnEdges, filterOf, normalCurve, rangesOf, reachOf } from "./distribution";

describe("distributions", () => {
  test("name the samples of a bin by a filter", () => {
    const [first] = rangesOf([0.3, 0.35, 0.4]);
    expect(first && filterOf("reward", first)).toBe("reward >= 0.3 and reward < 0.35");
    expect(filterOf("my metric", { low: -1e-7, high: 0 })).toBe('"my metric" >= -1e-7 and "my metric" < 0');
  });

  test("have a normal curve with the area of their bars", () => {
    const width = 0.1;
    const curve = normalCurve({ mean: 1, std: 0.5, count: 200 }, { low: -3, high: 5 }, width);
    const step = 8 / (curve.length - 1);
    const area = curve.reduce((sum, [, y]) => sum + y * step, 0);
    expect(area).toBeCloseTo(200 * width, 6);
    expect(normalCurve({ mean: 1, std: 0, count: 9 }, { low: 0, high: 2 }, width)).toEqual([]);
  });

  test("stand on zero, whatever the sign of their values", () => {
    const reach = reachOf([-1, null, 3]);
    expect(reach).toEqual({ low: -1, high: 3 });
    expect(barOf(3, reach)).toEqual({ foot: 0.25, height: 0.75 });
    expect(barOf(-1, reach)).toEqual({ foot: 0, height: 0.25 });
    expect(reachOf([0, 0])).toEqual({ low: 0, high: 1 });
  });

  test("end half a bin beyond whole numbers, and around the only value", () => {
    expect(drawnEdges([3, 4, 5], [3, 4, null, 3])).toEqual({ ends: [2.5, 3.5, 4.5], areInMiddle: true });
    expect(drawnEdges([0, 1], [0, 0])).toEqual({ ends: [-0.5, 0.5], areInMiddle: true });
    expect(drawnEdges([1, 1.5], [1, 1])).toEqual({ ends: [0.75, 1.25], areInMiddle: true });
    expect(drawnEdges([3, 4, 5], [3, 4.5])).toEqual({ ends: [3, 4, 5], areInMiddle: false });
    expect(drawnEdges([0, 0.5, 1], [0, 0.7])).toEqual({ ends: [0, 0.5, 1], areInMiddle: false });
  });

  test("share an axis if they have one unit and are about as large", () => {
    const of = (name: string, unit: string, min: number, max: number) => ({ name, unit, min, max });
    const [reward, reference] = [of("reward", "", 0, 1), of("ref_reward", "", 40, 50)];
    expect(areAlike(reward, reference), "those of the reference model always do").toBe(true);
    expect(areAlike(reward, of("format", "", 0, 1))).toBe(true);
    expect(areAlike(of("response_tokens", "tokens", 10, 900), of("prompt_tokens", "tokens", 100, 300))).toBe(true);
    expect(areAlike(of("derived.mean_kl", "", 0, 0.1), of("response_tokens", "tokens", 0, 0.2))).toBe(false);
    expect(areAlike(reward, of("tool_calls", "", 0, 40))).toBe(false);
    expect(areAlike(reward, of("logprobs", "", -3, -0.5))).toBe(false);
    expect(areAlike(reward, { ...reward, name: "none", min: null, max: null })).toBe(false);
  });
});
