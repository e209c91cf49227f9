import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../api";
import * as routes from "../api/routes.gen";
import type { StateItem } from "../api/types.gen";
import { START } from "../lib/address/address";
import { ungraded, ungradedTurn } from "../lib/sample/blind";
import type { Scope } from "../lib/list/scope";
import { reply, runItem, turn } from "../testing/records";
import { settled } from "../testing/page";
import { dropUnsaved, items, owners, sampleMark } from "./marks";
import { runs } from "./runs";
import { judgedIn, type Queue } from "./judging";
import { createSession, type Session } from "./session";

vi.mock(import("../api"), async (original) => ({
  ...(await original()),
  changeState: vi.fn<typeof api.changeState>(),
}));
vi.mock(import("../api/routes.gen"), async (original) => ({
  ...(await original()),
  askJudgingQueue: vi.fn<typeof routes.askJudgingQueue>(),
}));

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `train/1/0/${i}`);
let session: Session;

/** The open sample is there at once. */
function loaded(): void {
  session.sample.now.value = reply({ id: session.place.now.peek().sample ?? "" });
}

beforeEach(() => {
  dropUnsaved();
  items.value = new Map();
  owners.value = [{ owner: "o", run: "r", name: "r", format: "", path: "" }];
  runs.value = [runItem({ id: "r" })];
  vi.mocked(api.changeState).mockImplementation((change) =>
    Promise.resolve({
      ...change,
      owner: "o",
      version: change.seen + 1,
      changed_s: 0,
      by: "",
      run_mark: null,
      sample_mark: change.sample_mark ?? null,
      setting: null,
    } as StateItem),
  );
  vi.mocked(routes.askJudgingQueue).mockReset();
  vi.mocked(routes.askJudgingQueue).mockResolvedValue({
    run: "r",
    version: "1",
    ids: ids(3),
    samples: 30,
    against: "",
  });
  session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, where: "reward < 1" });
  vi.spyOn(session.sample, "prefetch").mockResolvedValue();
});

it("opens the samples of the queue one after another, and stores what was judged", async () => {
  await session.judging.begin();
  expect(vi.mocked(routes.askJudgingQueue).mock.calls[0]?.[1]).toMatchObject({ step: 1, where: "reward < 1" });
  expect(session.place.now.value.sample).toBe("train/1/0/0");
  expect(session.judging.judge("good")).toBe(false); // not there yet
  loaded();
  expect(session.judging.judge("good")).toBe(true);
  expect(sampleMark("r", "train/1/0/0").judgement).toBe("good");
  expect(session.place.now.value.sample).toBe("train/1/0/1");
  loaded();
  session.judging.judge("");
  expect(sampleMark("r", "train/1/0/1").judgement).toBe("");
  session.judging.goBy(-2);
  expect(session.place.now.value.sample).toBe("train/1/0/0");
  loaded();
  session.judging.judge("bad");
  await settled();
  expect(vi.mocked(api.changeState).mock.lastCall?.[0]).toMatchObject({ sample_mark: { judgement: "bad" } });
  session.end();
});

it("fetches a list again whose filter names judgements, when these change", async () => {
  const reload = vi.spyOn(session.list, "reload").mockResolvedValue();
  session.judging.start();
  await session.judging.begin();
  for (const where of ["reward < 1", "judgement is null"]) {
    session.place.go({ where, sample: "train/1/0/2" });
    loaded();
    expect(session.judging.judge(where === "reward < 1" ? "good" : "bad")).toBe(true);
    await settled();
    expect(reload).toHaveBeenCalledTimes(where === "reward < 1" ? 0 : 1);
  }
  session.end();
});

it("takes all steps where the step has few samples to judge", async () => {
  vi.mocked(routes.askJudgingQueue).mockResolvedValueOnce({
    run: "r",
    version: "1",
    ids: ids(2),
    samples: 2,
    against: "",
  });
  await session.judging.begin();
  expect(routes.askJudgingQueue).toHaveBeenCalledTimes(2);
  expect(vi.mocked(routes.askJudgingQueue).mock.lastCall?.[1].step).toBeUndefined();
  expect(session.judging.queue.value).toMatchObject({ isWide: true, samples: 30 });
  session.end();
});

it("a check hides the reward until the last sample is judged, and then shows the agreement", async () => {
  await session.judging.begin("random", true);
  expect(vi.mocked(routes.askJudgingQueue).mock.calls[0]?.[1]).toMatchObject({ limit: 10 });
  expect(session.judging.isBlind.value).toBe(true);
  for (const judgement of ["good", "bad", "good"] as const) {
    loaded();
    session.judging.judge(judgement);
  }
  await settled();
  expect(session.judging.isBlind.value).toBe(false);
  expect(session.judging.agreed.value).toEqual({ run: "r", split: "train", ids: ids(3) });
  session.end();
});

it("says that no sample is left, and hides nothing then", async () => {
  vi.mocked(routes.askJudgingQueue).mockResolvedValue({ run: "r", version: "1", ids: [], samples: 0, against: "" });
  await session.judging.begin("random", true);
  expect(session.judging.error.value).toContain("No sample is left");
  expect(session.judging.isBlind.value).toBe(false);
  expect(session.judging.queue.value?.ids).toEqual([]);
  session.end();
});

it("without a queue, a sample is judged where it is; leaving the run ends a queue", async () => {
  session.judging.start();
  session.place.go({ sample: "train/1/0/7" });
  loaded();
  session.judging.judge("bad");
  expect(sampleMark("r", "train/1/0/7").judgement).toBe("bad");
  expect(session.place.now.value.sample).toBe("train/1/0/7");
  await session.judging.begin();
  expect(session.judging.queue.value).not.toBeNull();
  session.place.go({ run: "other" });
  expect(session.judging.queue.value).toBeNull();
  session.end();
});

it("a sample without grades tells no reward", () => {
  const graded = reply({
    reward: 0.123,
    advantage: 0.123,
    facts: [{ name: "reward.acc", value: 0.123 }] as never,
    extra: { score: 0.123 },
    notes: ["reward 0.123"],
    turns: [turn("assistant", [], { reward: 0.123, metrics: { score: 0.123 } })],
  });
  const blind = ungraded(graded);
  expect(JSON.stringify({ ...blind, turns: blind.turns.map(ungradedTurn) })).not.toContain("0.123");
});

it("counts judged samples of exactly the split and the step, and none where names cannot tell", () => {
  const names = ["eval/1/0/0", "eval/2/0/0", "eval/1/2/0/0", "eval/aime/1/0/0"];
  const mark = { bookmarked: false, note: "", judgement: "good", uid: "", excerpt: "" };
  items.value = new Map(
    names.map((name) => [name, { kind: "sample", owner: "o", name, by: "", sample_mark: mark } as StateItem]),
  );
  const queue = { run: "r", split: "eval", isWide: false } as Queue;
  const count = (of: Partial<Scope>, change: Partial<Queue> = {}): number =>
    judgedIn({ ...queue, ...change }, {
      step: null,
      low: null,
      high: null,
      where: "",
      discarded: false,
      ...of,
    } as Scope);
  expect([count({}), count({ step: 1 }), count({ step: 1 }, { isWide: true })]).toEqual([2, 1, 2]);
  expect([count({ low: 1 }), count({ low: 1 }, { isWide: true })]).toEqual([0, 2]);
  expect([count({ where: "reward < 1" }), count({ discarded: true })]).toEqual([0, 0]);
  expect([count({}, { split: "eval/aime" }), count({}, { split: "eval/1" })]).toEqual([1, 1]);
});
