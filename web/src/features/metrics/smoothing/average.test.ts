import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type CurveData, type WireNumber } from "../../../api/types.gen";
import { recordOf, chart } from "../../../lib/charts/chart";
import { finite } from "../../../lib/numbers/numbers";
import { averaged, meansOf, pointsIn, wholeOf } from "./average";
import { cutOf } from "./cut";

interface Golden {
  steps: number[];
  values: WireNumber[];
  spread: number[];
  shown: number[];
  banded: Record<string, number[]>;
  means: Record<string, WireNumber[]>;
}

/** Made by tests/query/curves/test_decimation.py; tests run in `web`. */
const golden: Golden = JSON.parse(readFileSync("../tests/data/wire/averages.json", "utf8"));

const NOTHING = {
  spread: null,
  low: null,
  high: null,
  smooth: null,
  reach: null,
  x: null,
  x_start_s: null,
  with_value: null,
  samples: null,
  error: "",
};
const data = ({ steps, values }: Pick<Golden, "steps" | "values">): CurveData => ({
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
        if (expected === null || typeof mean !== "number") expect(mean).toBeNaN();
        else expect(Math.abs(mean - expected)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(expected)));
      });
    }
    expect((all && averaged(curve, all, 0))?.smooth.map(finite)).toEqual(curve.mean.map(finite));
  });
  it("waits for the server where points are missing", () => {
    const { steps, values } = golden;
    expect(pointsIn({ ...data(golden), points: steps.length + 1 })).toBeNull();
    expect(pointsIn({ ...data(golden), without_x: 1 })).toBeNull();
    const all = pointsIn(data({ steps: steps.slice(0, -1), values: values.slice(0, -1) }));
    expect(all && averaged(curve, all, 10)).toBeNull();
  });
  it("needs what is drawn, of the same samples, from the first step on", () => {
    const options = { where: "reward > 0", last_step: 9, band: "p5-p95", x_min: 2, x_max: 3 };
    const asked = recordOf(chart("sample", "reward", { options }), "train", recordOf(chart("elapsed", ""), ""));
    expect(wholeOf(asked)).toMatchObject({
      name: "reward",
      source: "train",
      x: null,
      options: { where: "reward > 0", last_step: 9, smooth: 0, band: "p5-p95", x_min: null, x_max: null },
    });
  });
});

describe("the points between two ends", () => {
  const all = pointsIn({ ...data(golden), spread: golden.spread });
  it("are those that the server keeps of the values and of the band", () => {
    expect(all && cutOf({ ...all, data: data(golden) }, null, 60, 0).values).toEqual(shown.map(({ value }) => value));
    for (const [most, places] of Object.entries(golden.banded)) {
      const found = all && cutOf(all, null, Number(most), 10);
      expect(found?.steps).toEqual(places.map((at) => golden.steps[at]));
      expect(found?.spread).toEqual(places.map((at) => golden.spread[at]));
      expect(found?.smooth).toEqual(places.map((at) => (all && meansOf(all, 10))?.[at]));
      expect(found?.points).toBe(600);
    }
  });
  it("have a neighbour on both sides", () => {
    const [steps, values] = [golden.steps.slice(0, 6), golden.values.slice(0, 6)];
    expect(steps).toEqual([360, 362, 369, 769, 771, 778]);
    const own = pointsIn(data({ steps, values }));
    const cut = (from: number, to: number): number[] | null => own && cutOf(own, [from, to], 60, 0).steps;
    expect(cut(362, 769)).toEqual([360, 362, 369, 769, 771]);
    expect(cut(370, 380)).toEqual([369, 769]);
    expect(cut(0, 10)).toEqual([360]);
    expect(cut(800, 900)).toEqual([778]);
    expect(own && cutOf(own, [0, 900], 60, 0).steps).toBe(own && cutOf(own, [0, 900], 60, 10).steps);
  });
});
