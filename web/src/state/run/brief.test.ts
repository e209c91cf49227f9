import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api/routes.gen";
import type { Brief, RunFindings, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../runs";
import { createSession, type Session } from "../session";

vi.mock("../../api/routes.gen", () => ({
  askBrief: vi.fn<typeof api.askBrief>(),
  askFindings: vi.fn<typeof api.askFindings>(),
}));

/** How long each answer takes. */
const BRIEF_MS = 2000;
const FINDINGS_MS = 4000;

const run = (id: string, step = 0): RunItem =>
  ({
    id,
    version: `${step}`,
    splits: [{ name: "train", last_step: step }],
    progress: { phase: "ready" },
  }) as RunItem;

const after = async <T>(ms: number, answer: () => T): Promise<T> => {
  await new Promise((done) => setTimeout(done, ms));
  return answer();
};

const versionOf = (id: string): string => runs.value?.find((item) => item.id === id)?.version ?? "";

let session: Session;

beforeEach(() => {
  vi.useFakeTimers();
  vi.mocked(api.askBrief)
    .mockReset()
    .mockImplementation((id) =>
      after(BRIEF_MS, () => ({ run: id, version: versionOf(id), split: "train", pending: 0 }) as Brief),
    );
  vi.mocked(api.askFindings)
    .mockReset()
    .mockImplementation((id) =>
      after(FINDINGS_MS, () => ({ run: id, version: versionOf(id), findings: [] }) as unknown as RunFindings),
    );
  session = createSession({ ...START, run: "a" });
  runs.value = [run("a"), run("b")];
  session.brief.start();
});

afterEach(() => {
  session.end();
});

it("comes after the reader went to the list of runs and back before it was requested", async () => {
  await vi.advanceTimersByTimeAsync(300);
  session.place.go({ run: null });
  await vi.advanceTimersByTimeAsync(1000);
  expect(api.askBrief).not.toHaveBeenCalled();
  session.place.go({ run: "a" });
  await vi.runAllTimersAsync();
  expect(api.askBrief).toHaveBeenCalledTimes(1);
  expect(session.brief.now.value?.run).toBe("a");
});

it("is not requested twice at once by a reader who goes to another run and back", async () => {
  await vi.advanceTimersByTimeAsync(700);
  session.place.go({ run: "b" });
  await vi.advanceTimersByTimeAsync(100);
  session.place.go({ run: "a" });
  await vi.advanceTimersByTimeAsync(1000);
  expect(vi.mocked(api.askBrief).mock.calls).toEqual([["a"]]);
  await vi.runAllTimersAsync();
  expect(vi.mocked(api.askBrief).mock.calls).toEqual([["a"]]);
  expect(session.brief.now.value?.run).toBe("a");
});

it("the findings follow, and both take a tenth of the time while a run grows", async () => {
  for (let step = 1; step <= 200; step++) {
    runs.value = [run("a", step)];
    await vi.advanceTimersByTimeAsync(1000);
  }
  const requests = vi.mocked(api.askBrief).mock.calls.length;
  expect(requests).toBeGreaterThan(2);
  expect(vi.mocked(api.askFindings).mock.calls.length).toBeLessThanOrEqual(requests);
  expect(requests * (BRIEF_MS + FINDINGS_MS)).toBeLessThan(0.15 * 200_000);
});

it("the findings come though the reader is at the list of runs when they are answered", async () => {
  await vi.advanceTimersByTimeAsync(700);
  session.place.go({ run: null });
  await vi.advanceTimersByTimeAsync(BRIEF_MS + FINDINGS_MS);
  expect(session.findings.found.value?.run).toBe("a");
});
