import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type CurveData, type WireNumber } from "../../../api/types.gen";
import { recordOf, chart } from "../../../lib/charts/chart";
import { finite } from "../../../lib/numbers/numbers";
import { averaged, pointsIn, wholeOf } from "./average";

interface Golden {
  steps: number[];
  values: WireNumber[];
  shown: number[];
  means: Record<string, WireNumber[]>;
}

/** Made by tests/query/curves/test_decimation.py; tests run in `web`. */
const golden: Golden = JSON.parse(readFileSync("../tests/data/wire/averages.json", "utf8"));

const NOTHING = { spread: null, low: null, high: null, smooth: null, reach: null, x: null, x_start_s: null, error: "" };
const data = ({ steps, values }: { steps: number[]; values: WireNumber[] }): CurveData => ({
  ...NOTHING,
  run: "a",
  curve: 0,
  steps,
  values,
  points: steps.length,
  left_out: 0,
  without_x: 0,
});

const shown = golden.shown.map((at) => ({ at, step: golden.steps[at] ?? NaN, value: golden.values[at] ?? null }));
const curve = { steps: shown.map(({ step }) => step), mean: shown.map(({ value }) => value), smooth: [], std: [] };

describe("the average of the shown points", () => {
  it("is that of the server, over all points", () => {
    const all = pointsIn(data(golden));
    expect(Object.keys(golden.means)).toEqual(["1", "10", "200"]);
    for (const [span, means] of Object.entries(golden.means)) {
      const found = all && averaged(curve, all, Number(span));
      expect(found?.mean).toBe(curve.mean);
      expect(found?.smooth.length).toBe(golden.shown.length);
      found?.smooth.forEach((mean, i) => {
        const expected = finite(means[shown[i]?.at ?? -1]);
        if (expected === null || typeof mean !== "number") expect(mean).toBe(expected);
        else expect(Math.abs(mean - expected)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(expected)));
      });
    }
    expect(all && averaged(curve, all, 0)?.smooth).toEqual(curve.mean.map(finite));
  });
  it("waits for the server where points are missing", () => {
    const { steps, values } = golden;
    expect(pointsIn({ ...data(golden), points: steps.length + 1 })).toBeNull();
    expect(pointsIn({ ...data(golden), without_x: 1 })).toBeNull();
    const all = pointsIn(data({ steps: steps.slice(0, -1), values: values.slice(0, -1) }));
    expect(all && averaged(curve, all, 10)).toBeNull();
  });
  it("needs the values alone, of the same samples, from the first step on", () => {
    const options = { where: "reward > 0", last_step: 9, band: "p5-p95", x_min: 2, x_max: 3 };
    const asked = recordOf(chart("sample", "reward", { options }), "train", {
      kind: "elapsed",
      name: "",
      source: "",
      stat: "",
    });
    expect(wholeOf(asked)).toMatchObject({
      name: "reward",
      source: "train",
      x: null,
      options: { where: "reward > 0", last_step: 9, smooth: 0, spread: false, band: "", x_min: null, x_max: null },
    });
  });
});
