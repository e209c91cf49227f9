import { expect, it, vi } from "vitest";
import * as api from "../api";
import type { RunItem, SampleReply, StepsReply } from "../api/types.gen";
import { START } from "../lib/address/address";
import { settled } from "../testing/page";
import { reply } from "../testing/records";
import { createSession } from "./session";
import { runs } from "./runs";

vi.mock(import("../api"), async (original) => ({
  ...(await original()),
  getSample: vi.fn<typeof api.getSample>(),
  getSteps: vi.fn<typeof api.getSteps>(),
}));

vi.mocked(api.getSample).mockImplementation(async (run, id): Promise<SampleReply> => reply({ run, id }));
vi.mocked(api.getSteps).mockImplementation(
  async (run, split) => ({ run, split, version: "1", steps: [1, 2] }) as StepsReply,
);

const run = (id: string): RunItem =>
  ({ id, name: id, version: "1", splits: [{ name: "train" }], progress: { phase: "ready" } }) as RunItem;
const at = (id: string, sample: string) => ({
  ...START,
  page: "rollouts" as const,
  run: id,
  split: "train",
  step: 1,
  sample,
});

it("stands beside another, on another run, and neither touches the other", async () => {
  runs.value = [run("a"), run("b")];
  const address = location.href;
  const [first, second] = [createSession(at("a", "train/1/0/0")), createSession(at("b", "train/1/0/1"))];
  for (const session of [first, second]) {
    session.steps.start();
    session.sample.start();
  }
  await settled();
  const shown = (): unknown[] =>
    [first, second].map(({ run: of, sample, steps, place }) => [
      of.now.value?.id,
      sample.now.value?.run,
      sample.now.value?.id,
      steps.reply.value?.run,
      place.now.value.step,
    ]);
  expect(shown()).toEqual([
    ["a", "a", "train/1/0/0", "a", 1],
    ["b", "b", "train/1/0/1", "b", 1],
  ]);

  second.steps.goBy(1);
  second.place.go({ sample: "train/2/0/0" });
  first.find.isFinding.value = true;
  first.folds.turn();
  await settled();
  expect(shown()).toEqual([
    ["a", "a", "train/1/0/0", "a", 1],
    ["b", "b", "train/2/0/0", "b", 2],
  ]);
  expect([second.find.isFinding.value, second.folds.willExpand.value, first.folds.willExpand.value]).toEqual([
    false,
    true,
    false,
  ]);
  expect(location.href).toBe(address);
});

it("asks for nothing any longer once it has ended", async () => {
  const session = createSession(at("a", "train/1/0/0"));
  session.sample.start();
  await settled();
  vi.mocked(api.getSample).mockClear();
  session.end();
  session.place.go({ sample: "train/1/0/2" });
  await settled();
  expect(api.getSample).not.toHaveBeenCalled();
});
