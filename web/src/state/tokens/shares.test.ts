import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { UpdateReply, UpdateRuleInfo } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
  getUpdate: vi.fn<typeof api.getUpdate>(),
  getUpdateShares: vi.fn<typeof api.getUpdateShares>(),
}));

const rule = (name: string): UpdateRuleInfo => ({
  name,
  title: name.toUpperCase(),
  about: "",
  thresholds: { high: 0.2 },
  kl_weight: 0.5,
  kl_setting: "",
  left_out: {},
  aggregation: "sequence_mean",
  is_of_run: false,
  read_from: "",
});
const push = { name: "", tokens: 1, up: 1, down: 0, taken_out: 0, lost: 0, unmoved: 0, uncounted: 0 };
const answer = (name: string): UpdateReply => ({
  rule: name,
  whole: push,
  by_sample: [],
  effective_samples: null,
  by_group: [],
  by_role: [],
  by_string: [],
  by_position: [],
  samples: 1,
  left_out: {},
  unnamed: 0,
  differing: [],
  differing_samples: 0,
});
const AT = { ...START, page: "rollouts" as const, run: "r", sample: "train/1/0/0", view: "tokens" as const };
const session = createSession({ ...AT, tokensAs: "update" });
session.tokens.start();
session.tokenShares.start();
const { tokenShares: shares, tokenUpdate: update } = session;
const asked = vi.mocked(api.getUpdateShares);

beforeEach(async () => {
  vi.mocked(api.getTokens).mockResolvedValue(
    tokenPage({ series: { kl: [1], ref_logprobs: [-1] }, updates: [rule("dapo"), rule("ppo"), rule("ipo")] }),
  );
  asked.mockReset().mockImplementation(async (_run, _scope, { name }) => answer(name));
  shares.again();
  session.place.go({ updateOf: "sample", rules: null, updateWeights: null });
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
});

it("asks for the group or the step under each chosen rule, never for the sample alone", async () => {
  expect(asked).not.toHaveBeenCalled();
  update.choose(1, "ipo");
  session.place.go({ updateOf: "group" });
  await settled();
  const scope = { split: "train", step: 1, group: "0" };
  expect(asked.mock.calls.map(([run, of, { name, klWeight }]) => [run, of, name, klWeight])).toEqual([
    ["r", scope, "ppo", 0.5],
    ["r", scope, "ipo", 0.5],
  ]);
  expect(asked.mock.calls.map((call) => call[4]?.name)).toEqual(["ipo", undefined]);
  expect(shares.now.value.map((one) => one?.rule)).toEqual(["ppo", "ipo"]);
  update.choose(1, "");
  session.place.go({ updateOf: "step" });
  await settled();
  expect(asked.mock.lastCall?.[1]).toEqual({ split: "train", step: 1 });
});

it("weighs tokens as the loss of the run does, until the reader says otherwise", async () => {
  session.place.go({ updateOf: "step" });
  await settled();
  expect(asked.mock.lastCall?.[3]).toBe("sequence_mean");
  session.place.go({ updateWeights: "token_mean" });
  await settled();
  expect(asked.mock.lastCall?.[3]).toBe("token_mean");
});

it("has the KL penalty of the run under every rule, or another one, and none without a reference", async () => {
  const [chosen] = update.chosen.value;
  if (chosen === undefined) throw new Error("no rule is chosen");
  update.move(chosen, "kl", 0.1);
  update.choose(1, "dapo");
  session.place.go({ updateOf: "step" });
  await settled();
  expect(asked.mock.calls.map((call) => call[2].klWeight)).toEqual([0.1, 0.5]);
  expect(session.place.now.value.rules).toMatchObject([{ name: "ppo", thresholds: { kl: 0.1 } }, {}]);
  expect(update.chosen.value.map(({ isMoved }) => isMoved)).toEqual([true, false]);
  update.move(chosen, "kl", 0.5);
  expect(session.place.now.value.rules?.[0]?.thresholds).toEqual({});
  vi.mocked(api.getTokens).mockResolvedValue(tokenPage({ series: { kl: [1] }, updates: [rule("ppo")] }));
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
  expect(update.chosen.value.map(({ klWeight }) => klWeight)).toEqual([null]);
  await new Promise((resolve) => setTimeout(resolve, 250)); // longer than the pause of a reader
  expect(asked.mock.lastCall?.[2].klWeight).toBe(0);
});

it("keeps an answer until the one about another threshold is there, and ends what nobody asks any more", async () => {
  session.place.go({ updateOf: "group" });
  await settled();
  let finish: (found: UpdateReply) => void = () => undefined;
  asked.mockReset().mockImplementation(() => new Promise((resolve) => (finish = resolve)));
  const [chosen] = update.chosen.value;
  if (chosen === undefined) throw new Error("no rule is chosen");
  for (const high of [0.3, 0.4]) update.move(chosen, "high", high);
  await new Promise((resolve) => setTimeout(resolve, 250)); // longer than the pause of a reader
  expect(asked.mock.calls.map((call) => call[2].thresholds)).toEqual([{ high: 0.4 }]);
  const first = finish;
  update.move(chosen, "high", 0.5);
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(asked.mock.calls.map((call) => [call[2].thresholds, call[5]?.aborted])).toEqual([
    [{ high: 0.4 }, true],
    [{ high: 0.5 }, false],
  ]);
  expect(shares.now.value.map((one) => one?.samples)).toEqual([1]);
  first({ ...answer("ppo"), samples: 3 });
  await settled();
  expect(shares.now.value.map((one) => one?.samples)).toEqual([1]);
  finish({ ...answer("ppo"), samples: 2 });
  await settled();
  expect(shares.now.value.map((one) => one?.samples)).toEqual([2]);
  update.move(chosen, "high", 0.6);
  await new Promise((resolve) => setTimeout(resolve, 250));
  session.place.go({ updateOf: "sample" });
  expect(asked.mock.lastCall?.[5]?.aborted).toBe(true);
});

it("says what failed, and asks again", async () => {
  asked.mockRejectedValueOnce(new api.ApiError(500, "broken", ""));
  session.place.go({ updateOf: "step" });
  await settled();
  expect([shares.error.value?.message, shares.now.value]).toEqual(["broken", [null]]);
  shares.again();
  await settled();
  expect([shares.error.value, shares.now.value.length]).toEqual([null, 1]);
});
