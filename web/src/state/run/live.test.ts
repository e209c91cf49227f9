import { createSession } from "../session";
import { effect, signal } from "@preact/signals";
import { expect, it, vi } from "vitest";
import * as api from "../../api";
import type { GroupItem, GroupsReply, SampleReply, StepsReply } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { keyOf } from "../../lib/list/scope";
import type { Listing } from "../list/list";
import { settled } from "../../testing/page";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getGroups: vi.fn<typeof api.getGroups>(),
  getSample: vi.fn<typeof api.getSample>(),
}));
Object.assign(session.steps, { reply: signal(null), last: signal(null) });

const STEPS: StepsReply = {
  run: "r",
  split: "train",
  version: "1",
  steps: [1, 2],
  samples: [4, 4],
  discarded: [0, 0],
  reward_mean: [0, 0],
  reward_std: [0, 0],
  reward_excluded: [0, 0],
  states: {},
  stamps: [7, 8],
};

/** What the server says of a step of so many samples. */
function reply(samples: number, stamp: number): GroupsReply {
  return {
    version: "2",
    total: samples,
    samples,
    of: samples,
    offset: 0,
    stamp,
    pending: 0,
    discarded: 0,
    reasons: [],
    columns: [],
    groups: [],
  };
}

session.live.startConfirming();

/** Show a list of a step, with the stamp that its samples had. */
function shown(step: number, stamp: number, of: number): void {
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step, mode: "groups" };
  const scope = session.list.scopeAt(session.place.now.peek());
  if (scope === null) throw new Error("a step is a scope");
  session.list.now.value = {
    scope,
    key: keyOf(scope),
    columns: [],
    version: "1",
    mode: "groups",
    total: of,
    of,
    rows: of,
    pages: new Map(),
    groups: new Map([[0, []]]),
    requests: new Set(),
    stamp,
    pending: 0,
    discarded: 0,
    reasons: [],
    hasStatus: false,
  } satisfies Listing;
  (session.steps.reply as { value: StepsReply }).value = STEPS;
}

it("tells a step that was written again from one that is as it was, and from one that is not there", async () => {
  const states: boolean[] = [];
  for (const [step = 0, stamp = 0, of = 0] of [
    [1, 7, 4],
    [1, 6, 4],
    [9, 0, 0],
    [9, 5, 4],
  ]) {
    vi.mocked(api.getGroups).mockResolvedValue(reply(3, stamp));
    shown(step, stamp, of);
    await settled();
    states.push(session.live.isStale.value);
  }
  expect(states).toEqual([false, true, false, true]);
});

it("tells nobody of a step that has another stamp and says what it said", async () => {
  vi.mocked(api.getGroups).mockResolvedValue(reply(4, 7));
  shown(1, 6, 4);
  expect(session.live.isStale.value).toBe(false);
  await settled();
  expect([session.live.isStale.value, session.list.now.value?.stamp]).toEqual([false, 7]);
});

it("says so all the while that a step which is known to have changed changes again", async () => {
  vi.mocked(api.getGroups).mockResolvedValue(reply(3, 7));
  shown(1, 6, 4);
  await settled();
  const states: boolean[] = [];
  const end = effect(() => void states.push(session.live.isStale.value));
  vi.mocked(api.getGroups).mockResolvedValue(reply(2, 9));
  (session.steps.reply as { value: StepsReply }).value = { ...STEPS, stamps: [9, 8] };
  await settled();
  end();
  expect(states).toEqual([true]);
});

it("counts what came since the list was loaded", () => {
  shown(1, 7, 3);
  expect([session.live.newSamples.value, session.live.isStale.value]).toEqual([1, false]);
});

it("follows the newest step until the reader goes to another sample or another step", async () => {
  const group = { prefix: "train/2/0/", members: ["0"], samples: 4, first: 0 } as GroupItem;
  let answer: (reply: GroupsReply) => void = () => undefined;
  vi.mocked(api.getGroups).mockReturnValue(new Promise((done) => (answer = done)));
  vi.mocked(api.getSample).mockResolvedValue({
    prompt_id: "",
    turns: [],
    extra: {},
    label: "",
  } as unknown as SampleReply);
  const newest = session.steps.last as { value: number | null };
  const at = (step: number, sample: string | null): void => {
    session.place.now.value = { ...session.place.now.peek(), step, sample };
  };
  session.place.now.value = { ...session.place.now.peek(), step: 1, mode: "groups", sample: "train/1/0/0" };
  newest.value = 1;
  session.live.startFollowing();
  const started = (): void => {
    session.live.isFollowing.value = true;
    session.live.isPaused.value = false;
  };
  started();
  newest.value = 2;
  await settled();
  const steps: string[] = [];
  const end = effect(() => void steps.push(`${session.place.now.value.step} ${session.place.now.value.sample}`));
  answer({ ...reply(4, 7), groups: [group] });
  await settled();
  end();
  // the step before stays until the next one is loaded, and then its first sample is shown at once
  expect([steps, session.live.isFollowing.value]).toEqual([["1 train/1/0/0", "2 train/2/0/0"], true]);
  at(2, null); // as the page goes to its first sample by itself
  at(2, "train/2/0/0");
  expect(session.live.isFollowing.value).toBe(true);
  at(2, "train/2/0/1");
  expect([session.live.isFollowing.value, session.live.isPaused.value]).toEqual([false, true]);
  newest.value = 3;
  expect(session.place.now.peek().step).toBe(2);
  at(3, "train/3/0/0");
  started();
  at(1, "train/1/0/0");
  expect([session.live.isFollowing.value, session.live.isPaused.value]).toEqual([false, true]);
});

it("following, a filter that changes during the wait is not answered with a sample of the list before", async () => {
  const group = { prefix: "train/3/0/", members: ["0"], samples: 4, first: 0 } as GroupItem;
  let answer: (reply: GroupsReply) => void = () => undefined;
  vi.mocked(api.getGroups).mockReturnValue(new Promise((done) => (answer = done)));
  const newest = session.steps.last as { value: number | null };
  newest.value = 1;
  shown(1, 7, 4);
  session.live.isFollowing.value = true;
  newest.value = 3;
  await settled();
  session.place.now.value = { ...session.place.now.peek(), where: "reward > 0" };
  answer({ ...reply(4, 7), groups: [group] });
  await settled();
  expect([session.place.now.peek().step, session.place.now.peek().sample]).toEqual([3, null]);
  session.live.isFollowing.value = false;
});
