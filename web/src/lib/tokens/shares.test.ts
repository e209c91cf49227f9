import { describe, expect, it } from "vitest";
import type { UpdatePush } from "../../api/types.gen";
import { largest, shareOf, shareRows } from "./shares";

const push = (name: string, some: Partial<UpdatePush>): UpdatePush => ({
  name,
  tokens: 10,
  up: 0,
  down: 0,
  taken_out: 0,
  lost: 0,
  unmoved: 0,
  uncounted: 0,
  ...some,
});

describe("shares of an update", () => {
  const whole = push("", { up: 6, down: 2, lost: 2, taken_out: 3 });
  it("are of all that is pushed up, pushed down and lost", () => {
    expect(shareOf(whole, whole)).toMatchObject({ up: 0.6, down: 0.2, lost: 0.2 });
    const share = shareOf(push("a", { up: 4, lost: 1, taken_out: 2, unmoved: 5 }), whole);
    expect(share).toEqual({ up: 0.4, down: 0, lost: 0.1, tokens: 10, takenOut: 2, unmoved: 5, uncounted: 0 });
  });
  it("are nothing of nothing, and unknown of what is infinite", () => {
    const none = push("", {});
    expect(shareOf(none, none)).toMatchObject({ up: 0, down: 0, lost: 0 });
    const endless = push("", { up: "Infinity" });
    expect(shareOf(endless, endless).up).toBeNaN();
  });
  it("of two rules stand beside each other by name", () => {
    const first = { whole, by: [push("a", { up: 6 }), push("b", { down: 2 })] };
    const second = { whole: push("", { up: 4, down: 4 }), by: [push("c", { up: 4 }), push("a", { down: 4 })] };
    const rows = shareRows([first, second]);
    expect(rows.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(rows.map(({ shares }) => shares.map((share) => share && [share.up, share.down]))).toEqual([
      [
        [0.6, 0],
        [0, 0.5],
      ],
      [[0, 0.2], null],
      [null, [0.5, 0]],
    ]);
    expect(largest(rows)).toBe(0.6);
    expect(shareRows([first, null]).map(({ shares }) => shares[1])).toEqual([null, null]);
    expect(largest([])).toBe(0);
  });
});
