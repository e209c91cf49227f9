import { describe, expect, it } from "vitest";
import { ago } from "./duration";

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
});
