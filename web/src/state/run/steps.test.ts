import { createSession } from "../session";
import { expect, it, vi } from "vitest";
import * as api from "../../api";
import type { RunItem, StepsReply } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { runs } from "../runs";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({ ...(await original()), getSteps: vi.fn<typeof api.getSteps>() }));

const RUN = (id: string): RunItem => ({ id, name: id, version: "1", splits: [{ name: "train" }] }) as RunItem;
const reply = (run: string): StepsReply => ({
  run,
  split: "train",
  version: "1",
  steps: [1],
  samples: [1],
  discarded: [0],
  reward_mean: [0],
  reward_std: [0],
  reward_excluded: [0],
  states: {},
  stamps: [1],
});

it("blames no run for the steps of another that could not be had", async () => {
  let fail: (error: Error) => void = () => undefined;
  vi.mocked(api.getSteps).mockImplementation(async (run) =>
    run === "a" ? new Promise((_, reject) => (fail = reject)) : reply(run),
  );
  session.steps.start();
  runs.value = [RUN("a"), RUN("b")];
  session.place.now.value = { ...START, page: "rollouts", run: "a", split: "train" };
  await settled();
  session.place.now.value = { ...session.place.now.value, run: "b" };
  await settled();
  fail(new api.ApiError(500, "late", ""));
  await settled();
  expect([session.steps.reply.value?.run, session.steps.error.value]).toEqual(["b", null]);
});

it("goes to a step that was named before the steps were known", async () => {
  let answer: (steps: StepsReply) => void = () => undefined;
  vi.mocked(api.getSteps).mockImplementation(async () => new Promise((resolve) => (answer = resolve)));
  runs.value = [RUN("c")];
  session.place.now.value = { ...START, page: "rollouts", run: "c", split: "train", step: 4 };
  await settled();
  session.steps.goNear(2);
  expect(session.place.now.value.step).toBe(4);
  answer({ ...reply("c"), steps: [1, 2, 4] });
  await settled();
  expect(session.place.now.value.step).toBe(2);
});

it("knows no steps of a run that is gone, and those of another in its place at once", async () => {
  vi.mocked(api.getSteps).mockImplementation(async () => reply("d"));
  runs.value = [RUN("d")];
  session.place.now.value = { ...START, page: "rollouts", run: "d", split: "train", step: 1 };
  await settled();
  expect(session.steps.reply.value?.steps).toEqual([1]);
  vi.mocked(api.getSteps).mockRejectedValue(new api.ApiError(404, "no such split", ""));
  runs.value = [{ ...RUN("d"), version: "2", splits: [] }];
  await settled();
  expect(session.steps.reply.value).toBeNull();
  vi.mocked(api.getSteps).mockImplementation(async () => ({ ...reply("d"), version: "3", steps: [1, 2, 3] }));
  runs.value = [{ ...RUN("d"), version: "3" }];
  await settled();
  expect(session.steps.reply.value?.steps).toEqual([1, 2, 3]);
});
