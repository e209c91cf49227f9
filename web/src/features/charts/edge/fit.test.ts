import { describe, expect, it } from "vitest";
import { smoothed } from "../../../lib/numbers/curves";
import { type Curve, NO_BOUNDS } from "../curvesOf";
import { beyondOf, fitOf, wordsOf } from "./fit";

/** A curve around a level, with other values at some steps. */
function of(count: number, level: number, far: Readonly<Record<number, number>> = {}, std: number[] = []): Curve {
  const steps = Array.from({ length: count }, (_, step) => step);
  const mean = steps.map((step) => far[step] ?? level * (1 + 0.3 * Math.sin(step)));
  return { steps, mean, smooth: smoothed(steps, mean, 10), std };
}

/** A reward that is learnt in four steps of two hundred. */
function learnt(): Curve {
  const steps = Array.from({ length: 200 }, (_, step) => step);
  const mean = steps.map((step) => [0.05, 0.2, 0.5, 0.8][step] ?? 0.99 + 0.005 * Math.sin(step));
  return { steps, mean, smooth: mean, std: [] };
}

const fit = (curve: Curve, ...others: (Curve | null)[]) => fitOf(curve, others, NO_BOUNDS, false);

describe("the range of a chart", () => {
  it("leaves out a spike that presses the rest flat, and keeps the average where it leaves the rest room", () => {
    const [low = NaN, high = NaN] = fit(of(90, 0.1, { 79: 0.7 })) ?? [];
    expect(low).toBeCloseTo(0.07, 2);
    expect(high).toBeLessThan(0.3);
    expect(high, "the end of the average of the spike").toBeGreaterThan(0.18);
    expect(fit(of(90, 0.1, { 79: 1e6 }))?.[1], "no room for the average of so far a spike").toBeLessThan(0.14);
  });
  it("has all points where the rest is not flat with them", () => {
    expect(fit(of(90, 0.1, { 79: 0.2 }))).toBeNull();
    expect(fit(of(90, 0))).toBeNull();
    expect(fit(of(0, 1))).toBeNull();
  });
  it("keeps more than one point in twenty, the last point, and each of a few", () => {
    const many = Object.fromEntries([10, 20, 30, 40, 50].map((step) => [step, 9]));
    expect(fit(of(90, 0.1, many))).toBeNull();
    expect(fit(of(90, 0.1, { ...many, 50: 0.1 }))).not.toBeNull();
    expect(fit(of(90, 0.1, { 89: 9 }))).toBeNull();
    expect(fit(of(7, 0.1, { 3: 9 }))).toBeNull();
    expect(fit(of(8, 0.1, { 3: 9 }))?.[1]).toBeLessThan(0.2);
  });
  it("keeps what a curve begins with, where a run learns", () => {
    expect(fit(learnt())).toBeNull();
    const spiked = { ...learnt(), mean: learnt().mean.with(100, 50) };
    const [low = NaN, high = NaN] = fit(spiked) ?? [];
    expect([low, high < 3]).toEqual([0.05, true]);
  });
  it("keeps the few values of a curve that is else the same", () => {
    const rare = of(90, 0, { 3: 0.01, 40: 0.02, 60: 1 });
    expect(fit(rare)).toBeNull();
  });
  it("leaves out as few as it needs to", () => {
    const [, high = NaN] = fit(of(200, 0.1, { 50: 9, 60: 0.155, 70: 0.15 }), of(200, 0.1)) ?? [];
    expect(high).toBeCloseTo(0.155, 9);
  });
  it("holds for the ends of bands, and for curves that are drawn over the first", () => {
    const stds = Array.from({ length: 90 }, (_, step) => (step === 30 ? 5 : 0.02));
    const banded = of(90, 0.1, {}, stds);
    expect(fit(banded)?.[1]).toBeLessThan(0.5);
    const often = stds.map((std, step) => (step % 6 === 0 ? 5 : std));
    expect(fit(of(90, 0.1, {}, often))?.[1], "one band in six").toBeLessThan(0.5);
    expect(
      fit(
        of(
          90,
          0.1,
          {},
          stds.map((std, step) => (step % 3 === 0 ? 5 : std)),
        ),
      ),
      "one band in three",
    ).toBeNull();
    const late = of(
      90,
      0.1,
      {},
      Array.from({ length: 90 }, (_, step) => (step === 89 ? 5 : 0.02)),
    );
    expect(fit(late)?.[1], "the band of the last point").toBeLessThan(0.5);
    expect(fit(of(90, 0.1), of(90, 0.1, { 30: 5 }), null)?.[1]).toBeLessThan(1);
    expect(fit(of(90, 0.1), of(90, 5)), "another level is not a spike").toBeNull();
  });
  it("goes by powers on a logarithmic scale", () => {
    expect(fitOf(of(90, 0.1, { 30: 0.3 }), [], NO_BOUNDS, true)).toBeNull();
    const [low = NaN] = fitOf(of(90, 0.1, { 30: 1e-12, 31: 0 }), [], NO_BOUNDS, true) ?? [];
    expect(low).toBeGreaterThan(1e-3);
  });
});

describe("what is beyond an axis", () => {
  it("is counted, with the farthest value, and has its places", () => {
    const stds = Array.from({ length: 90 }, (_, step) => (step === 30 ? 5 : 0));
    const curve = of(90, 0.1, { 79: 2.14, 80: -3, 81: -4 }, stds);
    const beyond = beyondOf(curve, [of(90, 0.1, { 7: 1.5 })], NO_BOUNDS, [0, 1]);
    expect(beyond.map((one) => wordsOf(one))).toEqual([
      "2 points, 1 band above, to 5.07",
      "2 points, 1 band below, to −4.93",
    ]);
    expect(beyond[0]?.places.map(({ x, curve: at, isBand }) => [x, at, isBand])).toEqual([
      [30, 0, true],
      [79, 0, false],
      [7, 1, false],
    ]);
    expect(beyondOf(of(90, 0.1, {}, stds), [], NO_BOUNDS, [0, 1]).map((one) => wordsOf(one))).toEqual([
      "1 band above: 5.07",
      "1 band below: −4.93",
    ]);
    expect(beyondOf(of(90, 0.1), [], NO_BOUNDS, [0, 1])).toEqual([]);
  });
});
