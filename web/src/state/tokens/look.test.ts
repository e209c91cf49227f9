import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import { START } from "../../lib/address/address";
import { usualScale } from "../../lib/tokens/scale";
import { settled } from "../../testing/page";
import { part, reply, runItem, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { runs } from "../runs";
import { chooseTokens } from "../browser/tokenView";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
}));

const AT = { ...START, page: "rollouts" as const, run: "r", sample: "train/1/0/0", view: "tokens" as const };
const LOG = { ...usualScale("log"), ends: "all" } as const;
const session = createSession(AT);
const { place, tokenLook: look } = session;
session.tokens.start();
look.start();

async function show(...names: readonly string[]): Promise<void> {
  const series = Object.fromEntries(names.map((name) => [name, [0.1, 0.2]]));
  vi.mocked(api.getTokens).mockResolvedValue(tokenPage({ series }));
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
}

beforeEach(() => {
  chooseTokens({ series: "", scales: {}, rules: null });
  place.go(AT);
  place.now.value = AT;
});

it("is in the address as soon as it is not the page's own choice", async () => {
  await show("kl", "entropy");
  expect([look.series.value?.name, place.now.value.colour]).toEqual(["kl", ""]);
  look.chooseSeries("entropy");
  look.changeScale({ kind: "log" });
  expect(place.now.value).toMatchObject({ colour: "entropy", scales: { entropy: usualScale("log") } });
  expect([look.series.value?.name, look.scale.value?.kind]).toEqual(["entropy", "log"]);
});

it("is the log ratio at first where RLLoggingBoard's data is read", async () => {
  runs.value = [runItem({ id: "r", format: "rl_logging_board" })];
  await show("kl", "log_ratio");
  expect(look.series.value?.name).toBe("log_ratio");
  runs.value = [];
});

it("is one for all rows of the table where it has all values", async () => {
  await show("kl", "entropy");
  place.now.value = { ...place.now.value, tokensAs: "table" };
  look.changeScale({ ends: "all" });
  expect(Object.values(place.now.value.scales).map(({ ends }) => ends)).toEqual(["all", "all"]);
});

it("is what the reader preferred elsewhere, which the address then names, as far as the sample has it", async () => {
  chooseTokens({ series: "entropy", scales: { entropy: LOG, gone: LOG }, rules: ["ipo"] });
  await show("kl", "entropy");
  expect(place.now.value).toMatchObject({ colour: "entropy", scales: { entropy: LOG }, rules: null });
  chooseTokens({ rules: [] });
  expect(place.now.value.rules).toEqual([]);
});

it("has the rows that the reader chose, as far as the sample has them, and never none", async () => {
  const rows = () => look.rows.value.map(({ name }) => name);
  await show("kl", "entropy", "logprobs");
  expect(rows()).toEqual(["kl", "logprobs", "entropy"]);
  look.toggleRow("logprobs");
  look.toggleRow("kl");
  expect([rows(), place.now.value.tableRows]).toEqual([["entropy"], ["entropy"]]);
  look.toggleRow("entropy");
  expect(rows()).toEqual(["entropy"]);
  await show("kl", "logprobs");
  expect(rows()).toEqual(["kl", "logprobs"]);
  await show("kl", "entropy");
  look.toggleRow("kl");
  expect(place.now.value.tableRows).toBeNull();
});

it("is what the address says, whatever the reader prefers", async () => {
  chooseTokens({ series: "entropy", scales: { kl: LOG } });
  place.go({ colour: "kl", scales: { kl: usualScale("symmetric") }, rules: [] }, "replace");
  await show("kl", "entropy", "constructor");
  expect([look.series.value?.name, look.scale.value?.kind]).toEqual(["kl", "symmetric"]);
  look.chooseSeries("constructor");
  expect(look.scaleChoice.value).toEqual(usualScale("linear"));
});
