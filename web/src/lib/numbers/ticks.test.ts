import { expect, it } from "vitest";
import { logTicks, roundTicks, stepTicks } from "./ticks";

it("are round, and hold the range between the first and the last", () => {
  expect(roundTicks(0.61, 1)).toEqual([0.6, 0.7, 0.8, 0.9, 1]);
  expect(roundTicks(24, 83)).toEqual([20, 40, 60, 80, 100]);
  expect(roundTicks(370, 1_260)).toEqual([0, 500, 1_000, 1_500]);
  expect(roundTicks(-0.0004, 0.0007)).toEqual([-0.0005, 0, 0.0005, 0.001]);
  for (const [low, high] of [
    [0, 1],
    [-3, 17],
    [0.999, 1.001],
    [1e-300, 3e-300],
    [5, 5.0000001],
  ] as const) {
    const ticks = roundTicks(low, high);
    expect([ticks[0] ?? 9, (ticks.at(-1) ?? -9) >= high - 1e-9, ticks.length <= 5]).toEqual([
      Math.min(ticks[0] ?? 9, low + 1e-9),
      true,
      true,
    ]);
    expect(roundTicks(ticks[0] ?? 0, ticks.at(-1) ?? 0), "the ticks of a round range are those of the range").toEqual(
      ticks,
    );
  }
});

it("are the ends where nothing between them can be told", () => {
  for (const [low, high] of [
    [-1.7e308, 1.7e308],
    [1e300, 1e300],
    [0, 5e-324],
    [1e16, 1e16 + 2],
  ] as const)
    expect(roundTicks(low, high)).toEqual([low, high]);
});

it("name the first and the last step, and round ones between that have room for their labels", () => {
  const widthOf = (step: number): number => 6 * String(step).length;
  expect(stepTicks({ first: 0, last: 100, px: 240, widthOf })).toEqual([0, 50, 100]);
  expect(stepTicks({ first: 7, last: 98, px: 400, widthOf })).toEqual([7, 20, 40, 60, 80, 98]);
  expect(stepTicks({ first: 3, last: 3, px: 0, widthOf })).toEqual([3]);
  const [first, last] = [900_000_000_000, 900_000_000_500];
  expect(stepTicks({ first, last, px: 240, widthOf })).toEqual([first, first + 200, last]);
  expect(stepTicks({ first, last, px: 80, widthOf })).toEqual([last]);
  for (const px of [40, 100, 240, 700]) {
    for (const [low, high] of [
      [0, 7],
      [1, 9_999_999],
      [900_000_000_000, 900_000_012_345],
      [0, 1.7e18],
    ] as const) {
      const ticks = stepTicks({ first: low, last: high, px, widthOf });
      const gaps = ticks
        .slice(1)
        .map(
          (tick, i) => ((tick - (ticks[i] ?? 0)) / (high - low)) * px - (widthOf(tick) + widthOf(ticks[i] ?? 0)) / 2,
        );
      expect(
        gaps.every((gap) => gap > 5),
        `${low} to ${high} on ${px}: ${ticks.join(" ")}`,
      ).toBe(true);
    }
  }
});

it("hold the range also far from zero", () => {
  for (const [low, high] of [
    [1_700_000_000.123, 1_700_000_000.1236],
    [1_234_567_890_123.1, 1_234_567_890_123.7],
    [1e16, 1e16 + 118],
  ] as const) {
    const ticks = roundTicks(low, high);
    expect([(ticks[0] ?? high) <= low, (ticks.at(-1) ?? low) >= high]).toEqual([true, true]);
  }
});

it("of a logarithmic axis are powers of ten, or round numbers within one power", () => {
  expect(logTicks(0.01, 100)).toEqual([0.01, 0.1, 1, 10, 100]);
  expect(logTicks(1e-6, 1e6)).toEqual([1e-6, 1e-3, 1, 1e3, 1e6]);
  expect(logTicks(0.2, 0.6)).toEqual([0.2, 0.3, 0.4, 0.5, 0.6]);
});
