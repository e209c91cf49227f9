import { describe, expect, it } from "vitest";
import { activity } from "./activity";

describe("whether a run goes on", () => {
  it("is told by its marker, else by how long it was quiet, measured by its own rhythm", () => {
    expect(activity("", 1500, 600)).toBe("ended");
    expect(activity("open", 1500, 600)).toBe("stalled");
    for (const ending of ["", "open"]) expect(activity(ending, 1500, 3600)).toBe("running");
    expect(activity("ended", 1, 3600)).toBe("ended");
    expect(activity("", null, 3600)).toBe("ended");
  });
});
