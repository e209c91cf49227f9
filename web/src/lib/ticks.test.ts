import { expect, it } from "vitest";
import { roundTicks } from "./ticks";

it("are round, and hold the range between the first and the last", () => {
  expect(roundTicks(0.61, 1)).toEqual([0.6, 0.7, 0.8, 0.9, 1]);
  expect(roundTicks(24, 83)).toEqual([20, 40, 60, 80, 100]);
  expect(roundTicks(370, 1_260)).toEqual([0, 500, 1_000, 1_500]);
  expect(roundTicks(-0.0004, 0.0007)).toEqual([-0.0005, 0, 0.0005, 0.001]);
  for (const [low, high] of [[0, 1], [-3, 17], [0.999, 1.001], [1e-300, 3e-300], [5, 5.0000001]] as const) {
    const ticks = roundTicks(low, high);
    expect([ticks[0] ?? 9, (ticks.at(-1) ?? -9) >= high - 1e-9, ticks.length <= 5]).toEqual([Math.min(ticks[0] ?? 9, low + 1e-9), true, true]);
    expect(roundTicks(ticks[0] ?? 0, ticks.at(-1) ?? 0), "the ticks of a round range are those of the range").toEqual(ticks);
  }
});

it("are the ends where nothing between them can be told", () => {
  for (const [low, high] of [[-1.7e308, 1.7e308], [1e300, 1e300], [0, 5e-324], [1e16, 1e16 + 2]] as const) expect(roundTicks(low, high)).toEqual([low, high]);
});

it("hold the range also far from zero", () => {
  for (const [low, high] of [[1_700_000_000.123, 1_700_000_000.1236], [1_234_567_890_123.1, 1_234_567_890_123.7], [1e16, 1e16 + 118]] as const) {
    const ticks = roundTicks(low, high);
    expect([(ticks[0] ?? high) <= low, (ticks.at(-1) ?? low) >= high]).toEqual([true, true]);
  }
});
