import { signal } from "@preact/signals";
import { expect, it, vi } from "vitest";
import * as api from "../api";
import type { GroupsReply, StepsReply } from "../api/types.gen";
import { START } from "../lib/address";
import { keyOf, type Listing } from "../lib/listing";
import { listing, scopeAt } from "./list";
import { isFollowing, isPaused, isStale, newSamples, startConfirming, startFollowing } from "./live";
import { place } from "./place";
import { lastStep, steps } from "./steps";
import { settled } from "../testing";

vi.mock(import("../api"), async (original) => ({ ...(await original()), getGroups: vi.fn<typeof api.getGroups>() }));
vi.mock("./steps", () => ({ steps: signal(null), lastStep: signal(null) }));

const STEPS: StepsReply = {
  run: "r", split: "train", version: "1", steps: [1, 2], samples: [4, 4], discarded: [0, 0], reward_mean: [0, 0], reward_std: [0, 0], reward_excluded: [0, 0], states: {}, stamps: [7, 8],
};

/** What the server says of a step of so many samples. */
function reply(samples: number, stamp: number): GroupsReply {
  return { run: "r", split: "train", version: "2", total: samples, samples, of: samples, offset: 0, stamp, columns: [], groups: [] };
}

startConfirming();

/** Show a list of a step, with the stamp that its samples had. */
function shown(step: number, stamp: number, of: number): void {
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step, mode: "groups" };
  const scope = scopeAt(place.peek());
  if (scope === null) throw new Error("a step is a scope");
  listing.value = { scope, key: keyOf(scope), columns: [], version: "1", mode: "groups", total: of, of, rows: of, pages: new Map(), groups: new Map([[0, []]]), asked: new Set(), stamp } satisfies Listing;
  (steps as { value: StepsReply }).value = STEPS;
}

it("tells a step that was written again from one that is as it was, and from one that is not there", async () => {
  const told: boolean[] = [];
  for (const [step = 0, stamp = 0, of = 0] of [[1, 7, 4], [1, 6, 4], [9, 0, 0], [9, 5, 4]]) {
    vi.mocked(api.getGroups).mockResolvedValue(reply(3, stamp));
    shown(step, stamp, of);
    await settled();
    told.push(isStale.value);
  }
  expect(told).toEqual([false, true, false, true]);
});

it("tells nobody of a step that has another stamp and says what it said", async () => {
  vi.mocked(api.getGroups).mockResolvedValue(reply(4, 7));
  shown(1, 6, 4);
  expect(isStale.value).toBe(false);
  await settled();
  expect([isStale.value, listing.value?.stamp]).toEqual([false, 7]);
});

it("counts what came since the list was loaded", () => {
  shown(1, 7, 3);
  expect([newSamples.value, isStale.value]).toEqual([1, false]);
});

it("follows the newest step until the reader goes to another sample or another step", () => {
  const newest = lastStep as { value: number | null };
  const at = (step: number, sample: string | null): void => {
    place.value = { ...place.peek(), step, sample };
  };
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/0/0" };
  newest.value = 1;
  startFollowing();
  const started = (): void => {
    isFollowing.value = true;
    isPaused.value = false;
  };
  started();
  newest.value = 2;
  expect([place.peek().step, isFollowing.value]).toEqual([2, true]);
  at(2, null); // as the page goes to its first sample by itself
  at(2, "train/2/0/0");
  expect(isFollowing.value).toBe(true);
  at(2, "train/2/0/1");
  expect([isFollowing.value, isPaused.value]).toEqual([false, true]);
  newest.value = 3;
  expect(place.peek().step).toBe(2);
  at(3, "train/3/0/0");
  started();
  at(1, "train/1/0/0");
  expect([isFollowing.value, isPaused.value]).toEqual([false, true]);
});
