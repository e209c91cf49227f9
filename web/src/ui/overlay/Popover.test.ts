import { expect, it } from "vitest";
import { placeBeside, roomAlong } from "./Popover";

it("a card stands at the right of what it belongs to, else at its left, else where it was", () => {
  const chart = { left: 300, right: 550 };
  expect(placeBeside(chart, 220, 8, 700, 330)).toBeGreaterThanOrEqual(550);
  expect(placeBeside(chart, 220, 8, 400, 330) + 220).toBeLessThanOrEqual(300);
  expect(placeBeside(chart, 400, 8, 400, 330)).toBe(330);
});

it("a card stands below its button, else above it where there is more room, and is no higher than the room", () => {
  expect(roomAlong({ top: 100, bottom: 130 }, 300, 0, 800)).toMatchObject({ isAbove: false });
  const low = roomAlong({ top: 600, bottom: 630 }, 480, 0, 800);
  expect(low.isAbove && low.room > 480).toBe(true);
  expect(roomAlong({ top: 600, bottom: 630 }, 700, 0, 800).room).toBeLessThan(600);
  expect(roomAlong({ top: 300, bottom: 330 }, 700, 0, 800)).toMatchObject({ isAbove: false });
});
