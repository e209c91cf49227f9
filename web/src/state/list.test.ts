import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../api";
import type { SamplesQuery } from "../api";
import type { RunItem } from "../api/types.gen";
import { type Place, START } from "../lib/address";
import { item, settled } from "../testing";
import { startComplete } from "./complete";
import { forgetLists, goOn, goTo, listing, need, PAGE, position, reload, startList } from "./list";
import { place } from "./place";
import { runs } from "./runs";

vi.mock(import("../api"), async (original) => ({
  ...(await original()),
  getGroups: vi.fn<typeof api.getGroups>(),
  getSamples: vi.fn<typeof api.getSamples>(),
}));

let total = 250;
let hasTokens = true;

const RUN: RunItem = {
  id: "r", name: "r", format: "relax", reason: "", path: "/r", problems: 0, version: "1", live: true, ending: "", changed_s: 1, reward_range: null, metric_ranges: [],
  splits: [{ name: "train", steps: 1, samples: 250, first_step: 1, last_step: 1, reward_min: 0, reward_max: 1 }],
  progress: { done_bytes: 1, total_bytes: 1, phase: "ready" },
};

async function samples(_: string, query: SamplesQuery) {
  const all = Array.from({ length: total }, (__, i) => item(i, hasTokens ? {} : { response_tokens: null }));
  const ordered = query.descending ? all.toReversed() : all;
  const at = ordered.findIndex(({ id }) => id === query.around);
  const offset = at < 0 ? query.offset : Math.floor(at / query.limit) * query.limit;
  return { run: "r", split: "train", version: "1", total, of: total, offset, stamp: 1, columns: [], samples: ordered.slice(offset, offset + query.limit) };
}

async function groups() {
  const all = Array.from({ length: total / 2 }, (_, i) => ({ group: String(i), prompt: `Q${i}`, samples: 2, first: 2 * i, reward_mean: 0.5, reward_std: 0.5, env: "", discarded: "", step: 1, prefix: `train/1/${i}/`, members: [], means: [], cells: [] }));
  return { run: "r", split: "train", version: "1", total: all.length, samples: total, of: total, offset: 0, stamp: 1, columns: [], groups: all };
}

vi.mocked(api.getSamples).mockImplementation(samples);
vi.mocked(api.getGroups).mockImplementation(groups);
startList();
startComplete();

/** Load the page at an address. */
async function opened(at: Partial<Place> = {}): Promise<void> {
  place.value = { ...START, ...at };
  runs.value = [RUN];
  await settled();
}

beforeEach(() => {
  total = 250;
  hasTokens = true;
  runs.value = null;
  listing.value = null;
  forgetLists();
  vi.clearAllMocks();
});

describe("the list of samples", () => {
  it("opens the newest step of the only run at its first sample", async () => {
    await opened();
    expect(place.value).toMatchObject({ page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/0/0" });
    expect(listing.value).toMatchObject({ total: 250 });
    expect(listing.value?.rows.length).toBe(375);
    expect(position.value).toBe(0);
  });
  it("opens at the page of the sample that the address names", async () => {
    await opened({ page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/110/220" });
    expect(position.value).toBe(220);
    expect([...(listing.value?.pages.keys() ?? [])]).toEqual([2]);
  });
  it("fetches the next page when somebody goes there, once", async () => {
    await opened();
    await goTo(PAGE - 1);
    await Promise.all([goOn(1), need(1), need(1)]);
    expect(place.value.sample).toBe(`train/1/50/${PAGE}`);
    expect(vi.mocked(api.getSamples).mock.calls.filter(([, { offset }]) => offset === PAGE)).toHaveLength(1);
    await goTo(249);
    await goOn(1);
    expect(position.value).toBe(249);
  });
  it("sorts by characters where a run tells no tokens", async () => {
    hasTokens = false;
    await opened({ page: "rollouts", run: "r", split: "train", step: 1, sort: "length", descending: true });
    expect(listing.value?.column).toBe("response_chars");
    expect(listing.value?.groups).toEqual([]);
    expect(place.value.sample).toBe("train/1/124/249");
  });
  it("stays as it is when the run grows, until it is asked", async () => {
    await opened();
    total = 252;
    runs.value = [{ ...RUN, version: "2" }];
    await settled();
    expect(listing.value?.total).toBe(250);
    await reload();
    expect(listing.value?.total).toBe(252);
    expect(position.value).toBe(0);
  });
  it("asks for a sample that is nowhere in the list once, not without end", async () => {
    await opened({ page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/9/gone" });
    await settled();
    expect(vi.mocked(api.getSamples).mock.calls.length).toBeLessThanOrEqual(2);
    expect(position.value).toBeNull();
  });
});
