import { describe, expect, it } from "vitest";
import { activity } from "./activity";

describe("whether a run goes on", () => {
  it("follows from its marker, else from how long it was quiet beside its own rhythm", () => {
    expect(activity("", 1500, 600, true)).toBe("unknown");
    expect(activity("open", 1500, 600, true)).toBe("stalled");
    for (const ending of ["", "open"]) expect(activity(ending, 1500, 3600, true)).toBe("running");
    expect(activity("ended", 1, 3600, true)).toBe("ended");
    expect(activity("", null, 3600, true)).toBe("unknown");
  });
});
