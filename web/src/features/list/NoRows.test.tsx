import { createSession } from "../../state/session";
import { beforeEach, describe, expect, it } from "vitest";
import { runs } from "../../state/runs";
import { drawn } from "../../testing/page";
import { Waiting } from "./NoRows";
import { runItem } from "../../testing/records";

const session = createSession();

const empty = runItem({
  format: "native",
  splits: [],
  progress: { done_bytes: 0, total_bytes: 0, phase: "ready" },
  ending: "open",
  changed_s: 240,
});

describe("a run without samples", () => {
  beforeEach(() => {
    session.place.now.value = { ...session.place.now.value, page: "rollouts", run: "r" };
  });
  it("goes on: nothing was recorded yet", async () => {
    runs.value = [empty];
    const host = await drawn(<Waiting />, session);
    expect(host.textContent).toContain("Running; no samples recorded yet");
    expect(host.textContent).toContain("appear here as the trainer writes them");
    expect(host.textContent).not.toContain("no readable record");
  });
  it("goes on, but has problems", async () => {
    runs.value = [{ ...empty, problems: 2 }];
    expect((await drawn(<Waiting />, session)).textContent).toContain("the page of unreadable records says why");
  });
  it("has ended", async () => {
    runs.value = [{ ...empty, live: false, ending: "ended" }];
    const host = await drawn(<Waiting />, session);
    expect(host.textContent).toContain("No samples yet");
    expect(host.textContent).toContain("no readable record");
  });
});
