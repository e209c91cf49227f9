import { describe, expect, it } from "vitest";
import { ago, took } from "./duration";

describe("spans of time", () => {
  it("tell how long ago", () => {
    expect([0, 59.4, 60, 3599, 7200, 200_000].map(ago)).toEqual([
      "0 s ago",
      "59 s ago",
      "1 min ago",
      "59 min ago",
      "2 h ago",
      "2 d ago",
    ]);
  });
  it("say how long something took", () => {
    expect([0.00012, 0.12, 0.996, 6.149, 59.9, 59.96, 185, 3725].map(took)).toEqual([
      "0.12 ms",
      "120 ms",
      "1 s",
      "6.1 s",
      "60 s",
      "1 min 00 s",
      "3 min 05 s",
      "1 h 02 min",
    ]);
  });
});
