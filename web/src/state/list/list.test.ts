import { createSession } from "../session";
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { SamplesQuery } from "../../api";
import { type Place, START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { item, runItem } from "../../testing/records";
import { startComplete } from "../place/placeDefaults";
import { itemAt, MOST_PAGES } from "./list";
import { PAGE } from "./pages";
import { runs } from "../runs";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getGroups: vi.fn<typeof api.getGroups>(),
  getSamples: vi.fn<typeof api.getSamples>(),
}));

let total = 250;
/** Another number where the samples are others. */
let stamp = 1;
/** Samples of a group. */
let size = 2;

const RUN = runItem();

async function samples(_: string, query: SamplesQuery) {
  const all = Array.from({ length: total }, (__, i) => item(i));
  const ordered = query.descending ? all.toReversed() : all;
  const at = ordered.findIndex(({ id }) => id === query.around);
  const offset = at < 0 ? query.offset : Math.floor(at / query.limit) * query.limit;
  return {
    run: "r",
    split: "train",
    version: "1",
    total,
    of: total,
    offset,
    stamp,
    pending: 0,
    discarded: 0,
    reasons: [],
    columns: [],
    samples: ordered.slice(offset, offset + query.limit),
  };
}

async function groups(_: string, query: SamplesQuery) {
  const all = Array.from({ length: total / size }, (__, i) => {
    const members = Array.from({ length: size }, (___, j) => String(size * i + j));
    return {
      group: String(i),
      prompt: `Q${i}`,
      samples: size,
      first: size * i,
      reward_mean: 0.5,
      reward_std: 0.5,
      env: "",
      discarded: "",
      step: 1,
      prefix: `train/1/${i}/`,
      members,
      means: [0.5],
      cells: [],
    };
  });
  const at = all.findIndex(({ prefix }) => query.around?.startsWith(prefix));
  const offset = at < 0 ? query.offset : Math.floor(at / query.limit) * query.limit;
  const found = all.slice(offset, offset + query.limit);
  return {
    run: "r",
    split: "train",
    version: "1",
    total: all.length,
    samples: total,
    of: total,
    offset,
    stamp,
    pending: 0,
    discarded: 0,
    reasons: [],
    columns: [],
    groups: found,
  };
}

vi.mocked(api.getSamples).mockImplementation(samples);
vi.mocked(api.getGroups).mockImplementation(groups);
session.list.start();
session.browse.start();
startComplete(session);

/** Load the page at an address. */
async function opened(at: Partial<Place> = {}): Promise<void> {
  session.place.now.value = { ...START, ...at };
  runs.value = [RUN];
  await settled();
}

beforeEach(() => {
  total = 250;
  stamp = 1;
  size = 2;
  runs.value = null;
  session.list.now.value = null;
  session.list.forget();
  vi.clearAllMocks();
});

const AT = { page: "rollouts", run: "r", split: "train", step: 1 } as const;

describe("the list", () => {
  it("opens the newest step of the only run at its first sample, by groups", async () => {
    await opened();
    expect(session.place.now.value).toMatchObject({
      page: "rollouts",
      run: "r",
      split: "train",
      step: 1,
      sample: "train/1/0/0",
    });
    expect(session.list.now.value).toMatchObject({ mode: "groups", total: 250, rows: 125 });
    expect(session.list.position.value).toBe(0);
  });
  it("shows samples where every group has one alone", async () => {
    size = 1;
    await opened();
    expect(session.list.now.value).toMatchObject({ mode: "samples", total: 250, rows: 250 });
  });
  it("goes on to show groups where a step has only begun", async () => {
    await opened();
    size = 1;
    await opened({ ...AT, step: 2 });
    expect(session.list.now.value).toMatchObject({ mode: "groups" });
  });
  it("keeps what is read where more steps are looked at", async () => {
    await opened({ ...AT, sample: "train/1/110/220" });
    session.filter.widen("run");
    await settled();
    expect([session.place.now.value.extent, session.place.now.value.sample, session.list.position.value]).toEqual([
      "run",
      "train/1/110/220",
      220,
    ]);
  });
  it("opens at the page of the sample that the address names", async () => {
    await opened({ ...AT, sample: "train/1/110/220" });
    expect([session.list.position.value, session.list.rowHere.value]).toEqual([220, 110]);
    expect([...(session.list.now.value?.groups.keys() ?? [])]).toEqual([1]);
    await opened({ ...AT, mode: "samples", sample: "train/1/110/220" });
    expect([...(session.list.now.value?.pages.keys() ?? [])]).toEqual([2]);
    expect([session.list.position.value, session.list.rowHere.value]).toEqual([220, 220]);
  });
  it("goes from sample to sample over groups and pages of them, and back", async () => {
    await opened({ ...AT, sample: "train/1/99/198" });
    await session.browse.goOn(1);
    expect(session.place.now.value.sample).toBe("train/1/99/199");
    await session.browse.goOn(1);
    expect(session.place.now.value.sample).toBe("train/1/100/200");
    await session.browse.goOn(-1);
    expect(session.place.now.value.sample).toBe("train/1/99/199");
    await session.browse.goToRow(124);
    expect(session.place.now.value.sample).toBe("train/1/124/248");
    await session.browse.goOn(1);
    await session.browse.goOn(1);
    expect(session.list.position.value).toBe(249);
  });
  it("goes on once it is there, where somebody wished to before", async () => {
    let answer: () => void = () => undefined;
    vi.mocked(api.getGroups).mockImplementationOnce(
      async (run, query) => new Promise((resolve) => (answer = () => resolve(groups(run, query)))),
    );
    await opened({ ...AT, sample: "train/1/99/198" });
    void session.browse.goOn(1);
    void session.browse.goOn(1);
    expect(session.place.now.value.sample).toBe("train/1/99/198");
    answer();
    await settled();
    expect(session.place.now.value.sample).toBe("train/1/100/200");
  });
  it("forgets a wish to go on from what is nowhere in the list", async () => {
    await opened({ ...AT, mode: "samples", sample: "train/1/9/gone" });
    void session.browse.goOn(1);
    await settled();
    session.place.now.value = { ...session.place.now.value, sample: "train/1/0/0" };
    await settled();
    session.place.now.value = { ...session.place.now.value, sample: "train/1/9/gone", where: "reward > 0" };
    await settled();
    expect(session.place.now.value.sample).toBe("train/1/9/gone");
  });
  it("keeps the open sample if a filter leaves it in the list, or leaves no list, else goes to its first", async () => {
    vi.mocked(api.getSamples).mockImplementation(async (run, query) => {
      if (query.where === "wrong") throw new Error("cannot be read");
      const reply = await samples(run, query);
      return query.where === "first 5"
        ? { ...reply, total: 5, offset: 0, samples: Array.from({ length: 5 }, (_, i) => item(i)) }
        : reply;
    });
    await opened({ ...AT, mode: "samples", sample: "train/1/110/220" });
    for (const [where, read] of [
      ["all", "train/1/110/220"],
      ["wrong", "train/1/110/220"],
      ["first 5", "train/1/0/0"],
      ["", "train/1/0/0"],
    ] as const) {
      session.filter.filterBy(where);
      await settled();
      expect([where, session.place.now.value.sample]).toEqual([where, read]);
    }
    vi.mocked(api.getSamples).mockImplementation(samples);
  });
  it("shows first what it is sorted by; a table that has the column keeps its order", async () => {
    const lastColumns = (): readonly string[] | undefined => vi.mocked(api.getSamples).mock.lastCall?.[1].column;
    const columns = ["reward", "kl"];
    for (const [mode, sort, shown] of [
      ["samples", "kl", ["kl", "reward"]],
      ["samples", "length", columns],
      ["table", "acc", ["acc", ...columns]],
      ["table", "kl", columns],
    ] as const) {
      await opened({ ...AT, mode, sort, columns });
      expect([mode, sort, lastColumns()]).toEqual([mode, sort, shown]);
    }
  });
  it("fetches the next page when somebody goes there, once", async () => {
    await opened({ ...AT, mode: "samples" });
    await session.browse.goToRow(PAGE - 1);
    await Promise.all([session.browse.goOn(1), session.list.need(1), session.list.need(1)]);
    expect(session.place.now.value.sample).toBe(`train/1/50/${PAGE}`);
    expect(vi.mocked(api.getSamples).mock.calls.filter(([, { offset }]) => offset === PAGE)).toHaveLength(1);
    await session.browse.goToRow(249);
    await session.browse.goOn(1);
    expect(session.list.position.value).toBe(249);
  });
  it("asks for what the address says: range, filter, order and columns", async () => {
    await opened({
      ...AT,
      mode: "samples",
      extent: [2, null],
      where: "reward > 0",
      sort: "kl",
      descending: true,
      columns: ["kl", "acc"],
    });
    expect(vi.mocked(api.getSamples).mock.calls[0]?.[1]).toMatchObject({
      split: "train",
      step: undefined,
      step_min: 2,
      step_max: undefined,
      where: "reward > 0",
      sort: "kl",
      descending: true,
      column: ["kl", "acc"],
    });
  });
  it("keeps the list where a filter cannot be read, and says so", async () => {
    await opened({ ...AT, mode: "samples" });
    vi.mocked(api.getSamples).mockRejectedValueOnce(new api.ApiError(400, "no column", "", null, 3));
    session.place.now.value = { ...session.place.now.value, where: "nope = 1" };
    await settled();
    expect([session.list.now.value?.total, session.list.error.value?.place, session.list.isBehind.value]).toEqual([
      250,
      3,
      true,
    ]);
  });
  it("shows no list of a run that somebody left before it was there", async () => {
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    vi.mocked(api.getGroups).mockImplementationOnce(async (...query) => late.then(() => groups(...query)));
    await opened(AT);
    expect(session.list.now.value).toBeNull();
    runs.value = [RUN, { ...RUN, id: "empty", splits: [] }];
    session.place.now.value = { ...START, page: "rollouts", run: "empty" };
    answer();
    await settled();
    expect(session.list.now.value).toBeNull();
  });
  it("holds some pages of a long list, and that of the sample that is looked at", async () => {
    total = 100 * PAGE;
    await opened({ ...AT, mode: "samples", sample: "train/1/250/500" });
    for (let page = 0; page < 100; page += 1) await session.list.need(page);
    const pages = [...(session.list.now.value?.pages.keys() ?? [])];
    expect([pages.length, pages.includes(99), pages.includes(4), session.list.position.value]).toEqual([
      MOST_PAGES,
      true,
      false,
      500,
    ]);
    await session.list.need(4);
    expect(itemAt(session.list.now.value, 400)?.id).toBe("train/1/200/400");
  });
  it("says of a page that it could not be had, until it is there; another list does not", async () => {
    await opened({ ...AT, mode: "samples" });
    vi.mocked(api.getSamples).mockRejectedValueOnce(new api.ApiError(500, "broken", ""));
    await session.list.need(1);
    expect([session.list.error.value?.message, session.list.isBehind.value]).toEqual(["broken", false]);
    await session.list.need(1);
    expect(session.list.error.value).toBeNull();
    let fail: (error: Error) => void = () => undefined;
    vi.mocked(api.getSamples).mockImplementationOnce(async () => new Promise((_, reject) => (fail = reject)));
    const late = session.list.need(2);
    session.place.now.value = { ...session.place.now.value, descending: true };
    await settled();
    fail(new api.ApiError(500, "late", ""));
    await late;
    expect([session.list.now.value?.scope.descending, session.list.error.value]).toEqual([true, null]);
  });
  it("stays as it is when the run grows, until it is asked", async () => {
    await opened();
    total = 252;
    runs.value = [{ ...RUN, version: "2" }];
    await settled();
    expect(session.list.now.value?.total).toBe(250);
    await session.list.reload();
    expect(session.list.now.value?.total).toBe(252);
    expect(session.list.position.value).toBe(0);
  });
  it("never shows pages of two moments, though both have as many rows", async () => {
    await opened({ ...AT, mode: "samples" });
    stamp = 2;
    await session.list.need(1);
    expect([session.list.now.value?.stamp, itemAt(session.list.now.value, 100)]).toEqual([2, undefined]);
    await session.list.need(1);
    expect(itemAt(session.list.now.value, 100)?.id).toBe("train/1/50/100");
  });
  it("asks for a sample that is nowhere in the list once, not without end", async () => {
    await opened({ ...AT, mode: "samples", sample: "train/1/9/gone" });
    await settled();
    expect(vi.mocked(api.getSamples).mock.calls.length).toBeLessThanOrEqual(2);
    expect(session.list.position.value).toBeNull();
  });
});
