import { expect, it } from "vitest";
import { smoothed } from "../../../lib/numbers/curves";
import { spikesOf } from "./spikes";

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
