import { expect, it } from "vitest";
import { placeBeside } from "./Popover";

it("a card stands at the right of what it belongs to, else at its left, else where it was", () => {
  const chart = { left: 300, right: 550 };
  expect(placeBeside(chart, 220, 8, 700, 330)).toBeGreaterThanOrEqual(550);
  expect(placeBeside(chart, 220, 8, 400, 330) + 220).toBeLessThanOrEqual(300);
  expect(placeBeside(chart, 400, 8, 400, 330)).toBe(330);
});
