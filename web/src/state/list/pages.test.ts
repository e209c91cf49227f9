import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { SamplesReply } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getProgress: vi.fn<typeof api.getProgress>(),
  getSamples: vi.fn<typeof api.getSamples>(),
}));

const ask = vi.mocked(api.getProgress);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.clearAllMocks();
});

/** Ask for a page that is not there yet. */
function asked() {
  const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, where: "reward > 1" });
  const scope = session.list.scopeAt(session.place.now.peek());
  if (scope === null) throw new Error("a step is a scope");
  let finish: (reply: SamplesReply) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  vi.mocked(api.getSamples).mockReturnValue(new Promise((...both) => ([finish, fail] = both)));
  return { pages: session.pages, page: session.pages.ask(scope, "samples", 0), finish, fail };
}

it("follows a page that takes long, and asks no more once it is there", async () => {
  ask.mockResolvedValue({ done: 10, of: 40, found: 3 });
  const { pages, page, finish } = asked();
  await vi.advanceTimersByTimeAsync(150);
  expect(ask).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(100);
  expect(pages.counting.value).toEqual({ done: 10, of: 40, found: 3 });
  const reply = {} as SamplesReply;
  finish(reply);
  expect(await page).toEqual({ kind: "samples", reply });
  expect(pages.counting.value).toBeNull();
  await vi.advanceTimersByTimeAsync(1000);
  const query = vi.mocked(api.getSamples).mock.calls[0]?.[1];
  expect(ask).toHaveBeenCalledExactlyOnceWith("r", "samples", query);
});

it("says nothing before the first look, and passes on what a page fails with", async () => {
  ask.mockResolvedValue({ done: 0, of: 0, found: 0 });
  const { pages, page, fail } = asked();
  const refused = expect(page).rejects.toThrow("no such column");
  await vi.advanceTimersByTimeAsync(500);
  expect(pages.counting.value).toBeNull();
  fail(new Error("no such column"));
  await refused;
});
