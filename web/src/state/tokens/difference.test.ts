import { expect, it, vi } from "vitest";
import * as api from "../../api";
import type { UpdateRuleInfo } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
  getUpdate: vi.fn<typeof api.getUpdate>(),
}));

const rule = (name: string): UpdateRuleInfo => ({
  name,
  title: name,
  about: "",
  thresholds: {},
  kl_weight: 0,
  aggregation: "token_mean",
  kl_setting: "",
  left_out: {},
  is_of_run: false,
  read_from: "",
});
const push = { name: "", tokens: 1, up: 1, down: 0, taken_out: 0, lost: 0, unmoved: 0, uncounted: 0 };
const sums = { whole: push, by_role: [], by_string: [], by_position: [], unnamed: 0 };
const AT = { ...START, page: "rollouts" as const, run: "r", view: "tokens" as const, tokensAs: "update" as const };
const { id } = reply({});

it("leads to the first token that the two rules treat differently, and nowhere without a second rule", async () => {
  vi.mocked(api.getTokens).mockResolvedValue(
    tokenPage({ series: { kl: [1, 2, 3] }, updates: [rule("ppo"), rule("ipo")] }),
  );
  vi.mocked(api.getUpdate).mockImplementation(async (_run, _id, { name }) => ({
    coefficients: Float64Array.of(1, 1, 1),
    effects: Int32Array.of(1, 1, name === "ipo" ? 4 : 1),
    sums: { ...sums, rule: name },
  }));
  const after = async (...rules: string[]) => {
    const session = createSession({ ...AT, sample: id, toDifference: true });
    session.place.go({ rules: rules.map((name) => ({ name, thresholds: {} })) });
    session.tokens.start();
    session.tokenUpdate.start();
    session.tokenLook.start();
    session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
    await settled();
    await new Promise((resolve) => setTimeout(resolve, 30));
    return [session.place.field.token.value, session.tokenLook.target.value?.token];
  };
  expect(await after("ppo", "ipo")).toEqual([2, 2]);
  expect(await after("ppo")).toEqual([null, undefined]);
});
