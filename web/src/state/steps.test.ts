import { expect, it, vi } from "vitest";
import * as api from "../api";
import type { RunItem, StepsReply } from "../api/types.gen";
import { START } from "../lib/address";
import { settled } from "../testing";
import { place } from "./place";
import { runs } from "./runs";
import { startSteps, steps, stepsError } from "./steps";

vi.mock(import("../api"), async (original) => ({ ...(await original()), getSteps: vi.fn<typeof api.getSteps>() }));

const RUN = (id: string): RunItem => ({ id, name: id, version: "1", splits: [{ name: "train" }] }) as RunItem;
const reply = (run: string): StepsReply => ({
  run, split: "train", version: "1", steps: [1], samples: [1], discarded: [0], reward_mean: [0], reward_std: [0], reward_excluded: [0], states: {}, stamps: [1],
});

it("blames no run for the steps of another that could not be had", async () => {
  let fail: (error: Error) => void = () => undefined;
  vi.mocked(api.getSteps).mockImplementation(async (run) => (run === "a" ? new Promise((_, reject) => (fail = reject)) : reply(run)));
  startSteps();
  runs.value = [RUN("a"), RUN("b")];
  place.value = { ...START, page: "rollouts", run: "a", split: "train" };
  await settled();
  place.value = { ...place.value, run: "b" };
  await settled();
  fail(new api.ApiError(500, "late", ""));
  await settled();
  expect([steps.value?.run, stepsError.value]).toEqual(["b", null]);
});
