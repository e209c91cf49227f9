import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { MaskRuleInfo, UpdateRuleInfo } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { chooseTokens } from "../browser/tokenView";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
}));

const ipo = (name: string, is_of_run: boolean): MaskRuleInfo => ({
  name,
  title: name.toUpperCase(),
  series: "prob_delta",
  limits: [{ threshold: "high", value: 0.1, side: "high", signs: ["up", "zero", "down"], base: 0, factor: 1 }],
  is_of_run,
});
const update = (name: string): UpdateRuleInfo => ({
  name,
  title: name.toUpperCase(),
  about: "",
  thresholds: { high: 0.1 },
  kl_weight: 0,
  kl_setting: "",
  left_out: {},
  aggregation: null,
  is_of_run: false,
  read_from: "",
});
const session = createSession({ ...START, page: "rollouts", run: "r", sample: "train/1/0/0", view: "tokens" });
session.tokens.start();
const masks = session.tokenMasks;

async function show(
  series: Readonly<Record<string, readonly number[]>>,
  rules: readonly MaskRuleInfo[],
  updates: readonly UpdateRuleInfo[] = [],
): Promise<void> {
  vi.mocked(api.getTokens).mockResolvedValue(tokenPage({ series, rules, updates }));
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
}

const DELTAS = { prob_delta: [0.05, 0.15, 0.3] };
const names = (): string[] => masks.chosen.value.map(({ name }) => name);

beforeEach(() => {
  chooseTokens({ rules: null });
  session.place.go({ rules: null });
});

it("are recorded flags if the trainer wrote some, else the run's own rule, else none", async () => {
  await show({ ...DELTAS, is_masked: [0, 0, 1] }, [ipo("ipo", true)]);
  expect(names()).toEqual(["recorded"]);
  expect(masks.all.value.map(({ name, count }) => [name, count])).toEqual([
    ["recorded", 1],
    ["ipo", 2],
  ]);
  await show(DELTAS, [ipo("other", false), ipo("ipo", true)]);
  expect(names()).toEqual(["ipo"]);
  await show(DELTAS, [ipo("other", false)]);
  expect(names()).toEqual([]);
});

it("are at most two, as the reader chose them", async () => {
  await show(DELTAS, [ipo("one", false), ipo("two", false), ipo("three", false)]);
  masks.choose(0, "two");
  masks.choose(1, "one");
  expect(names()).toEqual(["two", "one"]);
  masks.choose(0, "three");
  expect(names()).toEqual(["three", "one"]);
  masks.choose(0, "");
  expect(names()).toEqual(["one"]);
});

it("follow their thresholds until those are reset, and agree with recorded flags or not", async () => {
  await show({ ...DELTAS, is_masked: [0, 0, 1] }, [ipo("ipo", false)]);
  const rule = () => masks.all.value[1] ?? expect.unreachable();
  expect(masks.withRecorded(rule())).toBe(0.5);
  masks.choose(1, "ipo");
  masks.move(rule(), "high", 0.2);
  expect(session.place.now.value.rules?.[1]).toEqual({ name: "ipo", thresholds: { high: 0.2 } });
  expect([[...rule().flags], masks.withRecorded(rule()), rule().isMoved]).toEqual([[0, 0, 1], 1, true]);
  masks.reset(rule());
  expect([rule().count, rule().isMoved]).toEqual([2, false]);
  expect(session.place.now.value.rules?.[1]).toEqual({ name: "ipo", thresholds: {} });
});

it("are those that the update compares, as far as both know them", async () => {
  await show(
    { ...DELTAS, is_masked: [0, 0, 1] },
    [ipo("ipo", false), ipo("dapo", false)],
    [update("dapo"), update("ipo"), update("ppo")],
  );
  const updates = (): string[] => session.tokenUpdate.chosen.value.map(({ rule }) => rule.name);
  expect([names(), updates()]).toEqual([["recorded"], ["ppo"]]);
  masks.choose(1, "ipo");
  expect([names(), updates()]).toEqual([
    ["recorded", "ipo"],
    ["ppo", "ipo"],
  ]);
  session.tokenUpdate.choose(1, "dapo");
  expect([names(), updates()]).toEqual([
    ["recorded", "dapo"],
    ["ppo", "dapo"],
  ]);
  session.tokenUpdate.choose(0, "ipo");
  expect([names(), updates()]).toEqual([
    ["ipo", "dapo"],
    ["ipo", "dapo"],
  ]);
  masks.move(masks.all.value[1] ?? expect.unreachable(), "high", 0.2);
  expect(session.tokenUpdate.chosen.value[0]?.thresholds).toEqual({ high: 0.2 });
  masks.choose(0, "");
  masks.choose(0, "");
  expect([names(), updates()]).toEqual([[], ["ppo"]]);
});
