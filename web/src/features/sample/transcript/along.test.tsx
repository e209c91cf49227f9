/** A transcript whose sample was reached along the steps of its prompt. */

import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../../api";
import type { SampleReply } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { difference } from "../../../lib/diff/diff";
import { createSession, type Session } from "../../../state/session";
import { drawn, settled } from "../../../testing/page";
import { part, promptLife, promptStep, reply, turn } from "../../../testing/records";
import { Transcript } from "./Transcript";

vi.mock(import("../../../api"), async (original) => ({
  ...(await original()),
  askPrompt: vi.fn<typeof api.askPrompt>(),
  getSample: vi.fn<typeof api.getSample>(),
}));

// Comparing takes a worker in the page; what it does is the same.
vi.mock(import("../../../ui/text/differ"), async () => ({
  compare: (first, second, done) => {
    const timer = setTimeout(() => done(difference(first, second)));
    return () => clearTimeout(timer);
  },
}));

const answer = (text: string) => turn("assistant", [part("text", text)], { origin: "response" });

const sampleOf = (step: number, more: Partial<SampleReply> = {}): SampleReply =>
  reply({ id: `train/${step}/0/1`, step, prompt_steps: 3, turns: [answer(`It is ${step}.`)], ...more });

let session: Session;

beforeEach(async () => {
  vi.mocked(api.askPrompt).mockResolvedValue(promptLife([1, 4, 9].map((step) => promptStep(step))));
  vi.mocked(api.getSample).mockReturnValue(new Promise(() => undefined));
  session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/0/1" });
  session.prompt.start();
  session.sample.now.value = sampleOf(1);
  await settled();
});

it("keeps the scroll position; any other sample opens at its end", async () => {
  const observe = vi.spyOn(ResizeObserver.prototype, "observe");
  const articles = () => observe.mock.calls.filter(([element]) => element.tagName === "ARTICLE").length;
  await drawn(<Transcript reply={sampleOf(1)} />, session);
  expect(articles()).toBe(1);
  session.prompt.goBy(1);
  session.sample.now.value = sampleOf(4);
  await drawn(<Transcript reply={sampleOf(4)} />, session);
  expect(articles()).toBe(1);
});

it("marks no difference from its reference while the answer of the step before is loading", async () => {
  let give: (before: SampleReply) => void = () => undefined;
  vi.mocked(api.getSample).mockReturnValue(new Promise((resolve) => (give = resolve)));
  session.prompt.goBy(1);
  const sample = sampleOf(4, { reference: { turns: [answer("It was 4.")], reward: 0, gap: 1 } });
  session.sample.now.value = sample;
  await drawn(<Transcript reply={sample} />, session);
  expect(session.differences.now.value).toBeNull();
  give(sampleOf(1));
  await vi.waitFor(() => expect(session.differences.now.value?.spans.get("0.0")).toHaveLength(1), 20_000);
});

it("says of the next sample nothing that was said of the last", async () => {
  session.sample.now.value = sampleOf(4, { turn_total: 9 });
  vi.mocked(api.getSample).mockResolvedValueOnce(sampleOf(1));
  session.prompt.goBy(1);
  await drawn(<Transcript reply={sampleOf(4, { turn_total: 9 })} />, session);
  await vi.waitFor(() => expect(session.differences.refused.value).toContain("more turns"), 20_000);
  session.prompt.goBy(1);
  await settled();
  expect(session.differences.refused.value).toBe("");
});
