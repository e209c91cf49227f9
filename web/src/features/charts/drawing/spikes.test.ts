import type uPlot from "uplot";
import { expect, it, vi } from "vitest";
import { smoothed } from "../../../lib/numbers/curves";
import type { Inks } from "../inks";
import { spikes, spikesOf } from "./spikes";

const steps = Array.from({ length: 120 }, (_, step) => step);
const noise = steps.map((step) => 1 + 0.3 * Math.sin(step * 7.3));

it("a spike is the points far from their average with those beside them", () => {
  const raw = noise.with(70, 9).with(71, 8);
  const smooth = smoothed(steps, raw, 10);
  const [piece, ...more] = spikesOf(raw, smooth, steps, 9);
  expect(more).toEqual([]);
  expect(piece?.slice(0, 3)).toEqual([69, 70, 71]);
  expect(piece?.at(-1)).toBeLessThan(75);
});

it("noise has none, nor what is low in the chart", () => {
  const smooth = smoothed(steps, noise, 10);
  expect(spikesOf(noise, smooth, steps, 0.7)).toEqual([]);
  const raw = noise.with(70, 9);
  expect(spikesOf(raw, smoothed(steps, raw, 10), steps, 90)).toEqual([]);
  expect(spikesOf([], [], [], 1)).toEqual([]);
});

it("a spike is drawn paler and thinner than the average, which does not jump there", () => {
  vi.stubGlobal(
    "Path2D",
    class {
      moveTo = vi.fn<() => void>();
      lineTo = vi.fn<() => void>();
    },
  );
  const raw = noise.with(70, 9);
  const drawn: number[][] = [];
  const ctx = {
    globalAlpha: 1,
    lineWidth: 0,
    ...Object.fromEntries(
      ["save", "restore", "beginPath", "rect", "clip", "setLineDash"].map((name) => [name, vi.fn()]),
    ),
    stroke: () => drawn.push([ctx.globalAlpha, ctx.lineWidth / devicePixelRatio]),
  };
  const plot = {
    ctx,
    bbox: {},
    data: [steps, raw, smoothed(steps, raw, 10)],
    scales: { x: { min: 0, max: 119 }, y: { min: 0, max: 9 } },
    valToPos: (value: number) => value,
  };
  spikes({ line: "", others: [] } as unknown as Inks, () => [], false)(plot as unknown as uPlot);
  vi.unstubAllGlobals();
  expect(drawn).toEqual([[0.5, 1]]);
});
