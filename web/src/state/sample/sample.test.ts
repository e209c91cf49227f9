import { createSession } from "../session";
import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { SampleReply, TurnsReply } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, turn } from "../../testing/records";
import { choose } from "../browser/settings";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getSample: vi.fn<typeof api.getSample>(),
  getTurns: vi.fn<typeof api.getTurns>(),
}));

const ID = "train/1/0/0";
const AT = { ...START, page: "rollouts" as const, run: "r", split: "train", step: 1 };
const long = (id: string): SampleReply => reply({ id, turns: [turn("user", [part("text", "0")])], turn_total: 9 });
const from = (at: number): TurnsReply => ({
  turns: [turn("user", [part("text", String(at))])],
  turn_from: at,
  turn_total: 9,
});

/** Questions that wait for their answers, in the order in which they were asked. */
function waiting<T>(): {
  ask: () => Promise<T>;
  answers: { give: (value: T) => void; fail: (error: Error) => void }[];
} {
  const answers: { give: (value: T) => void; fail: (error: Error) => void }[] = [];
  return { ask: async () => new Promise((give, fail) => answers.push({ give, fail })), answers };
}

session.sample.start();

beforeEach(async () => {
  vi.mocked(api.getSample).mockImplementation(async (_, id) => long(id));
  session.sample.forget();
  session.place.now.value = { ...AT, sample: ID };
  await settled();
});

it("shows the turns that were asked for last, whichever come last", async () => {
  const { ask, answers } = waiting<TurnsReply>();
  vi.mocked(api.getTurns).mockImplementation(ask);
  const both = [session.sample.goTurns({ from: 3 }), session.sample.goTurns({ from: 6 })];
  answers[1]?.give(from(6));
  await both[1];
  answers[0]?.give(from(3));
  await Promise.all(both);
  expect(session.sample.page.value?.turn_from).toBe(6);
});

it("blames no other sample for turns that could not be had", async () => {
  const { ask, answers } = waiting<TurnsReply>();
  vi.mocked(api.getTurns).mockImplementation(ask);
  const late = [session.sample.goTurns({ from: 3 })];
  session.place.now.value = { ...AT, sample: "train/1/0/1" };
  await settled();
  answers[0]?.fail(new api.ApiError(500, "late", ""));
  await Promise.all(late);
  expect([session.sample.now.value?.id, session.sample.pageError.value]).toEqual(["train/1/0/1", null]);
});

it("shows a prompt as it is divided now, whichever answer comes last", async () => {
  const { ask, answers } = waiting<SampleReply>();
  vi.mocked(api.getSample).mockImplementation(ask);
  choose({ promptAfter: "one" });
  choose({ promptAfter: "two" });
  answers[1]?.give({ ...long(ID), label: "two" });
  await settled();
  answers[0]?.give({ ...long(ID), label: "one" });
  await settled();
  expect(session.sample.now.value?.label).toBe("two");
});

it("says what failed until it was asked for with success, however often it is asked again", async () => {
  vi.mocked(api.getSample).mockRejectedValue(new api.ApiError(404, "gone", ""));
  session.place.now.value = { ...AT, sample: "train/1/0/9" };
  await settled();
  const { ask, answers } = waiting<SampleReply>();
  vi.mocked(api.getSample).mockImplementation(ask);
  const refresh = session.sample.refresh();
  expect(session.sample.error.value?.message).toBe("gone");
  answers[0]?.give(long("train/1/0/9"));
  await refresh;
  expect([session.sample.now.value?.id, session.sample.error.value]).toEqual(["train/1/0/9", null]);
});

it("blames no other sample for one that could not be had", async () => {
  vi.mocked(api.getSample).mockRejectedValueOnce(new api.ApiError(404, "gone", ""));
  session.place.now.value = { ...AT, sample: "train/1/0/9" };
  await settled();
  session.place.now.value = { ...AT, sample: ID };
  expect(session.sample.error.value).toBeNull();
});

it("keeps samples of 20 million characters together, and loads older ones again", async () => {
  const chars = 9_000_000;
  vi.mocked(api.getSample).mockImplementation(async (_, id) => reply({ id, turns: [{ ...turn("user", []), chars }] }));
  const isShown = async (id: string): Promise<boolean> => {
    session.place.now.value = { ...AT, sample: id };
    await settled();
    return session.sample.isShown.value;
  };
  expect([await isShown("train/1/0/2"), await isShown("train/1/0/3"), await isShown("train/1/0/4")]).not.toContain(
    false,
  );
  vi.mocked(api.getSample).mockImplementation(waiting<SampleReply>().ask);
  expect([await isShown("train/1/0/3"), await isShown("train/1/0/4"), await isShown("train/1/0/2")]).toEqual([
    true,
    true,
    false,
  ]);
});

it("lets charts wait until the first sample has had time to be painted", async () => {
  vi.useFakeTimers();
  const { ask, answers } = waiting<SampleReply>();
  vi.mocked(api.getSample).mockImplementation(ask);
  const other = createSession({ ...AT, sample: ID });
  other.sample.start();
  await vi.advanceTimersByTimeAsync(1000);
  expect(other.sample.isFirstDone.value).toBe(false);
  answers[0]?.give(long(ID));
  await vi.advanceTimersByTimeAsync(1);
  expect([other.sample.now.value?.id, other.sample.isFirstDone.value]).toEqual([ID, false]);
  await vi.advanceTimersByTimeAsync(100);
  expect(other.sample.isFirstDone.value).toBe(true);
});
