import { expect, it, vi } from "vitest";
import type { changeState } from "../../api";
import * as api from "../../api/routes.gen";
import type { Brief, BriefSentence, Evidence, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { setAside } from "../../state/run/findings";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { drawn, settled } from "../../testing/page";
import { BriefBand, placeOf } from "./BriefBand";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  changeState: vi.fn<typeof changeState>(),
}));
vi.mock("../../api/routes.gen", () => ({
  askBrief: vi.fn<typeof api.askBrief>(),
  askFindings: vi.fn<typeof api.askFindings>().mockRejectedValue(new Error("not here")),
}));

const run = (phase: string, step = 1): RunItem =>
  ({ id: "r", splits: [{ name: "train", last_step: step }], progress: { phase } }) as RunItem;

const sentence = (evidence: Partial<Evidence>, more: Partial<BriefSentence> = {}): BriefSentence => ({
  text: "The reward rose from 0.2 to 0.8; it is best at step 9.",
  kind: "reward",
  steps: [0, 9],
  evidence: {
    page: "metrics",
    split: "",
    where: "",
    sort: "",
    descending: false,
    discarded: false,
    curve: null,
    finding: "",
    samples: [],
    ...evidence,
  },
  ...more,
});

const brief = (sentences: BriefSentence[]): Brief => ({
  run: "r",
  version: "1",
  sentences,
  split: "train",
  samples: 8,
  pending: 0,
});

it("a sentence leads to the page, the samples or the sample that show it", () => {
  expect(placeOf(sentence({}), "train")).toEqual({ page: "metrics", ask: {} });
  expect(placeOf(sentence({ curve: { kind: "trainer", name: "optim/kl", source: "" } }), "train").ask).toEqual({
    curve: "trainer/optim%2Fkl",
  });
  expect(placeOf(sentence({ page: "evals", split: "eval/a" }), "train").ask).toEqual({ of: "eval/a" });
  expect(placeOf(sentence({ page: "findings", finding: "a phrase" }), "train").ask).toEqual({ finding: "a phrase" });
  expect(placeOf(sentence({ page: "rollouts", samples: ["train/1/0/0", "train/2/0/0"] }), "train")).toMatchObject({
    page: "rollouts",
    sample: "train/1/0/0",
  });
  expect(placeOf(sentence({ page: "rollouts", where: "reward < 1", sort: "reward" }), "train")).toMatchObject({
    split: "train",
    step: 9,
    extent: [0, 9],
    where: "reward < 1",
    sort: "reward",
    sample: null,
  });
  expect(placeOf(sentence({ page: "rollouts", split: "eval/a" }, { steps: [4, 4] }), "train")).toMatchObject({
    split: "eval/a",
    step: 4,
    extent: "step",
  });
});

it("the band is there before its sentences are, and says so if nothing stands out", async () => {
  const session = createSession({ ...START, page: "rollouts", run: "r" });
  runs.value = [run("ready")];
  const page = await drawn(<BriefBand />, session);
  expect(page.textContent).toContain("Reading the run");
  session.brief.now.value = brief([]);
  await settled();
  expect(page.textContent).toContain("Reading the run");
  session.brief.now.value = brief([sentence({})]);
  await settled();
  expect(page.querySelector("a")?.textContent).toBe("Reward The reward rose from 0.2 to 0.8; it is best at step 9.");
  session.brief.now.value = brief([]);
  session.brief.isPartial.value = false;
  await settled();
  expect(page.textContent).toContain("Nothing stands out");
  session.end();
});

it("leaves out what a person has set aside", async () => {
  const session = createSession({ ...START, page: "rollouts", run: "r" });
  runs.value = [run("ready")];
  session.brief.now.value = brief([sentence({ page: "findings", finding: "a phrase" })]);
  const page = await drawn(<BriefBand />, session);
  expect(page.querySelectorAll("a")).toHaveLength(1);
  setAside("r", "a phrase", { why: "asked for", who: "", since: 1 });
  await settled();
  expect(page.querySelectorAll("a")).toHaveLength(0);
  session.end();
});

it("a run is asked about once its numbers are indexed, at once when all of it is, and when it has grown", async () => {
  vi.mocked(api.askBrief).mockResolvedValue(brief([sentence({})]));
  const session = createSession({ ...START, page: "rollouts", run: "r" });
  runs.value = [run("scalars")];
  const page = await drawn(<BriefBand />, session);
  vi.useFakeTimers();
  session.brief.start();
  await vi.runAllTimersAsync();
  expect(api.askBrief).not.toHaveBeenCalled();
  runs.value = [run("text")];
  await vi.advanceTimersByTimeAsync(1000);
  expect(api.askBrief).toHaveBeenCalledTimes(1);
  expect(api.askFindings).not.toHaveBeenCalled();
  expect(page.querySelectorAll("a")).toHaveLength(1);
  expect(page.textContent).toContain("still reading");
  runs.value = [run("text", 2)];
  await vi.runAllTimersAsync();
  expect(api.askBrief).toHaveBeenCalledTimes(1);
  runs.value = [run("ready", 2)];
  runs.value = [run("ready", 2)];
  await vi.advanceTimersByTimeAsync(1000);
  expect(api.askBrief).toHaveBeenCalledTimes(2);
  expect(page.textContent).not.toContain("still reading");
  runs.value = [run("ready", 3)];
  await vi.runAllTimersAsync();
  expect(api.askBrief).toHaveBeenCalledTimes(3);
  session.end();
});

it("follows a run that gets a step every second, and says which steps it knows", async () => {
  vi.useFakeTimers();
  vi.mocked(api.askBrief)
    .mockReset()
    .mockResolvedValue(brief([sentence({})]));
  const session = createSession({ ...START, page: "rollouts", run: "r" });
  runs.value = [run("ready", 0)];
  session.brief.start();
  for (let step = 1; step <= 60; step++) {
    runs.value = [run(step % 2 === 0 ? "text" : "ready", step)];
    await vi.advanceTimersByTimeAsync(1000);
    if (step > 1) expect(step - (session.brief.asOf.value ?? 0)).toBeLessThan(13);
  }
  expect(vi.mocked(api.askBrief).mock.calls.length).toBeLessThan(8);
  vi.useRealTimers();
  const page = await drawn(<BriefBand />, session);
  expect(page.textContent).toMatch(/as of step 5\d/);
  runs.value = [run("ready", session.brief.asOf.value ?? 0)];
  await settled();
  expect(page.textContent).not.toContain("as of step");
  session.end();
});
