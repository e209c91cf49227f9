import { createSession } from "./session";
import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../api";
import type { MembersReply, RunItem, SamplesReply } from "../api/types.gen";
import { START } from "../lib/address/address";
import { settled } from "../testing/page";
import { item, samplesReply } from "../testing/records";
import { runs } from "./runs";

const session = createSession();

vi.mock(import("../api"), async (original) => ({
  ...(await original()),
  getMembers: vi.fn<typeof api.getMembers>(),
  getSamples: vi.fn<typeof api.getSamples>(),
}));

const AT = { ...START, page: "rollouts" as const, view: "group" as const, run: "r", split: "train", step: 1 };
const group = (run: string, rewards: number[]): SamplesReply =>
  samplesReply(
    rewards.map((reward, i) => item(i, { reward })),
    { run },
  );
const members = async (run: string, { id }: { id: string }): Promise<MembersReply> => ({
  run,
  id,
  against: id,
  best: id,
  total: 1,
  offset: 0,
  common: 0,
  answers: [{ id, pieces: [], chars: 0, skipped: 0, cut: 0, verdict: "self", parts_at: -1, error: "" }],
  reference: null,
  prompt: [],
  prompt_chars: 0,
  label: "",
});

session.group.start();

beforeEach(() => {
  vi.mocked(api.getSamples).mockImplementation(async (run) => group(run, [0, 1]));
  vi.mocked(api.getMembers).mockImplementation(members);
  runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
});

it("asks for no figures of an id that was never one", async () => {
  vi.mocked(api.getSamples).mockClear();
  session.place.now.value = { ...AT, sample: "train/1/%zz/0" };
  await settled();
  expect(api.getSamples).not.toHaveBeenCalled();
});

it("shows the figures that were asked for last, whichever come last", async () => {
  const gives: ((reply: SamplesReply) => void)[] = [];
  vi.mocked(api.getSamples).mockImplementation(async () => new Promise((give) => gives.push(give)));
  session.place.now.value = { ...AT, sample: "train/1/0/0" };
  session.group.again();
  await settled();
  gives[1]?.(group("r", [0, 7]));
  await settled();
  gives[0]?.(group("r", [0, 1]));
  await settled();
  expect(session.group.membersHere.value.map(({ reward }) => reward)).toEqual([0, 7]);
});

it("keeps the answers where more of them cannot be had, and says so until they can", async () => {
  session.place.now.value = { ...AT, sample: "train/1/0/0" };
  await settled();
  vi.mocked(api.getMembers).mockRejectedValueOnce(new api.ApiError(500, "broken", ""));
  session.group.showMore();
  await settled();
  expect([session.group.answers.value?.id, session.group.answersError.value?.message]).toEqual([
    "train/1/0/0",
    "broken",
  ]);
  session.group.again();
  await settled();
  expect(session.group.answersError.value).toBeNull();
});

it("asks again for what it could not get when more of the run has been read", async () => {
  vi.mocked(api.getMembers).mockRejectedValueOnce(new api.ApiError(404, "not read yet", ""));
  session.place.now.value = { ...AT, sample: "train/1/1/0" };
  await settled();
  expect(session.group.answersError.value?.message).toBe("not read yet");
  runs.value = [{ id: "r", name: "r", version: "2", splits: [{ name: "train" }] } as RunItem];
  await settled();
  expect([session.group.answers.value?.id, session.group.answersError.value]).toEqual(["train/1/1/0", null]);
});
