import { expect, it, vi } from "vitest";
import * as api from "../../api";
import type { StepsReply } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { item, listing, reply, runItem } from "../../testing/records";
import { runs } from "../runs";
import { createSession } from "../session";
import { startPrefetch } from "./prefetch";

vi.mock(import("../../api"), async (original) => ({ ...(await original()), getSteps: vi.fn<typeof api.getSteps>() }));

vi.mocked(api.getSteps).mockResolvedValue({
  run: "r",
  split: "train",
  version: "1",
  steps: [1, 2, 3, 4],
} as StepsReply);

const idOf = (step: number, place: number): string => `train/${step}/0/${place}`;

it("loads the samples beside first, but the next step first for a reader who goes from step to step", async () => {
  runs.value = [runItem()];
  const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 4 });
  let asked: string[] = [];
  session.list.listOf = async ({ step }) => {
    asked.push(`list of ${step}`);
    return Promise.resolve(listing(session, { mode: "samples", pages: new Map() }));
  };
  session.sample.prefetch = async (_, id) => {
    asked.push(id);
    return Promise.resolve();
  };
  const open = async (step: number): Promise<string[]> => {
    asked = [];
    session.place.go({ step });
    const items = [0, 1].map((place) => item(place, { id: idOf(step, place) }));
    session.list.now.value = listing(session, { mode: "samples", total: 2, rows: 2, pages: new Map([[0, items]]) });
    session.sample.now.value = reply({ run: "r", id: idOf(step, 0) });
    session.place.go({ sample: idOf(step, 0) }, "replace");
    await settled();
    return asked;
  };
  session.steps.start();
  await settled();
  startPrefetch(session);
  expect(await open(3)).toEqual([idOf(3, 1), "list of 4", "list of 2"]);
  expect(await open(2)).toEqual(["list of 1", idOf(2, 1), "list of 3"]);
  expect(await open(3)).toEqual(["list of 4", idOf(3, 1), "list of 2"]);
  asked = [];
  session.sample.now.value = reply({ run: "r", id: idOf(3, 1) });
  session.place.go({ sample: idOf(3, 1) });
  await settled();
  expect(asked).toEqual([idOf(3, 0), "list of 4", "list of 2"]);
  session.end();
});
