import { beforeEach, describe, expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { place } from "../../state/place";
import { runs } from "../../state/runs";
import { drawn } from "../../testing";
import { Waiting } from "./NoRows";

const empty: RunItem = {
  id: "r",
  name: "r",
  format: "native",
  reason: "",
  path: "/r",
  splits: [],
  problems: 0, may_report: false,
  progress: { done_bytes: 0, total_bytes: 0, phase: "ready" },
  version: "1",
  live: true,
  has_grown: true,
  ending: "open",
  changed_s: 240,
  quiet_s: 600,
  reward_range: null,
  metric_ranges: [],
};

describe("a run without samples", () => {
  beforeEach(() => {
    place.value = { ...place.value, page: "rollouts", run: "r" };
  });
  it("goes on: nothing was recorded yet", async () => {
    runs.value = [empty];
    const host = await drawn(<Waiting />);
    expect(host.textContent).toContain("Running; nothing was recorded yet");
    expect(host.textContent).toContain("appears here by itself");
    expect(host.textContent).not.toContain("no record that can be shown");
  });
  it("goes on, but has problems", async () => {
    runs.value = [{ ...empty, problems: 2 }];
    expect((await drawn(<Waiting />)).textContent).toContain("the page of problems says why");
  });
  it("has ended", async () => {
    runs.value = [{ ...empty, live: false, ending: "ended" }];
    const host = await drawn(<Waiting />);
    expect(host.textContent).toContain("No sample here yet");
    expect(host.textContent).toContain("no record that can be shown");
  });
});
