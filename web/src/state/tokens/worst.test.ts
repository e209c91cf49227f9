import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { RunWorstTokens } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, runItem, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { runs } from "../runs";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
  askWorstTokens: vi.fn<typeof api.askWorstTokens>(),
}));

const session = createSession({ ...START, page: "rollouts", run: "r", sample: "train/1/0/0", view: "tokens" });
session.tokens.start();
session.tokenWorst.start();
const asked = vi.mocked(api.askWorstTokens);
const answer = (series: string, ...values: number[]): RunWorstTokens => ({
  run: "r",
  version: "1",
  series,
  tokens: values.map((value, token) => ({ value, id: `train/1/0/${value}`, token, text: "a", token_id: null })),
  coverage: { samples: 1, pending: 0, unread: 0 },
});

async function show(series: string): Promise<void> {
  vi.mocked(api.getTokens).mockResolvedValue(tokenPage({ series: { [series]: [1] } }));
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
}

beforeEach(async () => {
  asked.mockReset().mockImplementation(async (_run, { series, side }) => answer(series, side === "high" ? 2 : 0.1));
  runs.value = [runItem({ id: "r", version: "1" })];
  session.tokenWorst.of.value = "sample";
  await show("kl");
});

it("asks for the worse side of a series, and for both of a ratio", async () => {
  expect(asked).not.toHaveBeenCalled();
  session.tokenWorst.of.value = "step";
  await settled();
  expect(asked.mock.calls).toEqual([["r", { split: "train", step: 1, series: "kl", side: "high" }]]);
  await show("ref_probability");
  expect(asked.mock.lastCall?.[1].side).toBe("low");
  await show("importance_ratio");
  expect(asked.mock.calls.slice(-2).map((call) => call[1].side)).toEqual(["high", "low"]);
  expect(session.tokenWorst.now.value[0]?.tokens.map(({ value }) => value)).toEqual([0.1]);
});

it("asks again when the run has changed, and shows the last answer meanwhile", async () => {
  session.tokenWorst.of.value = "run";
  await settled();
  asked.mockImplementation(async (_run, { series }) => answer(series, 7));
  runs.value = [runItem({ id: "r", version: "2" })];
  expect(session.tokenWorst.now.value[0]?.tokens[0]?.value).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 250)); // longer than the pause of a reader
  expect(session.tokenWorst.now.value[0]?.tokens[0]?.value).toBe(7);
});
