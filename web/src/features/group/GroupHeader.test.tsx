import { createSession } from "../../state/session";
import { expect, it, vi } from "vitest";
import * as api from "../../api";
import type { RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { drawn, settled } from "../../testing/page";
import { item, promptLife, promptStep, samplesReply } from "../../testing/records";
import { GroupHeader } from "./GroupHeader";
import { SamePrompt } from "./SamePrompt";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({ ...(await original()), askPrompt: vi.fn<typeof api.askPrompt>() }));

runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
session.place.now.value = {
  ...START,
  page: "rollouts",
  view: "group",
  run: "r",
  split: "train",
  step: 1,
  sample: "train/1/0/0",
};

it("says of which samples the figures are, where the group has more of them", async () => {
  const reply = samplesReply([item(0), item(1)]);
  session.group.members.value = reply;
  const host = await drawn(<GroupHeader />, session);
  expect(host.textContent).not.toContain("Of the first");
  session.group.members.value = { ...reply, total: 100_000 };
  await settled();
  expect(host.textContent).toMatch(/Group of 100,000.*Of the first2/);
});

it("has the means of what was trained on, and says how many samples more were discarded", async () => {
  const discard = { discarded: "max_async", reward: 9, response_tokens: 990 };
  const reply = samplesReply([item(0), item(1), item(2, discard), item(3, discard)]);
  session.group.members.value = reply;
  const host = await drawn(<GroupHeader />, session);
  expect(host.querySelector("dl")?.textContent).toBe(
    "Reward0.500±0.500 · 0.00 to 1.00(+2 discarded)Response tokens1110 to 11completed4",
  );
  expect(host.querySelector('dd[title="not trained on: max_async"]')).not.toBeNull();
  session.group.members.value = { ...reply, total: 2, samples: [item(0, discard), item(1, discard)] };
  await settled();
  expect(host.querySelector("dl")?.textContent).toMatch(/^Reward9\.00.*discarded2$/);
});

it("says that a prompt has more steps than are told", async () => {
  const life = promptLife([promptStep(1), promptStep(2)]);
  vi.mocked(api.askPrompt).mockResolvedValue({ ...life, is_cut: true });
  const host = await drawn(<SamePrompt />, session);
  await settled();
  expect(host.textContent).toContain("the first 2 steps");
});
