import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { part, reply, turn } from "../../testing/records";
import { tokenPage } from "../../testing/tokens";
import { createSession } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
  getTurns: vi.fn<typeof api.getTurns>(),
}));

const AT = { ...START, page: "rollouts" as const, run: "r", split: "train", step: 1, sample: "train/1/0/0" };
const page = tokenPage({ text: ["a", "b", "c"], turn: [0, 1, 1], series: { kl: [1, 2, 3] } });
const turns = [turn("user", [part("text", "a")]), turn("assistant", [part("text", "bc")], { origin: "response" })];
const session = createSession(AT);
session.tokens.start();
session.tokenLook.start();

beforeEach(() => {
  vi.mocked(api.getTokens).mockReset().mockResolvedValue(page);
  session.tokens.forget();
  session.place.now.value = AT;
  session.sample.now.value = reply({ turns });
});

it("asks for tokens only while they are shown, and keeps them", async () => {
  await settled();
  expect(api.getTokens).not.toHaveBeenCalled();
  session.place.go({ view: "tokens" });
  await settled();
  expect(session.tokens.now.value?.segments.map(({ role }) => role)).toEqual(["user", "assistant"]);
  session.place.go({ view: "transcript" });
  session.place.go({ view: "tokens" });
  await settled();
  expect(api.getTokens).toHaveBeenCalledTimes(1);
  session.sample.now.value = reply({ turns, reward: 0 }); // the sample was written again
  await settled();
  expect(api.getTokens).toHaveBeenCalledTimes(2);
});

it("asks ahead for a person who is about to press, once, and tells of a failure only at the press", async () => {
  session.tokens.prepare();
  session.tokens.prepare();
  await settled();
  expect([vi.mocked(api.getTokens).mock.calls.length, session.tokens.now.value]).toEqual([1, null]);
  session.place.go({ view: "tokens" });
  expect(session.tokens.now.value?.count).toBe(3);
  session.tokens.prepare();
  await settled();
  expect(api.getTokens).toHaveBeenCalledTimes(1);
  session.place.go({ view: "transcript" });
  session.tokens.forget();
  vi.mocked(api.getTokens).mockRejectedValue(new api.ApiError(500, "broken", ""));
  session.tokens.prepare();
  await settled();
  expect(session.tokens.error.value).toBeNull();
});

it("asks for all pages of tokens, and of turns", async () => {
  const two = { ...page, total: 300_000, count: 262_144 };
  vi.mocked(api.getTokens).mockImplementation(async (_run, _id, { start }) => ({ ...two, start }));
  vi.mocked(api.getTurns).mockResolvedValue({ turns: turns.slice(1), turn_from: 1, turn_total: 2 });
  session.sample.now.value = reply({ turns: turns.slice(0, 1), turn_total: 2 });
  session.place.go({ view: "tokens" });
  await settled();
  expect(vi.mocked(api.getTokens).mock.calls.map(([, , { start }]) => start)).toEqual([0, 262_144]);
  expect(session.tokens.now.value?.segments[1]?.role).toBe("assistant");
});

it("says what failed, and tries again", async () => {
  vi.mocked(api.getTokens).mockRejectedValueOnce(new api.ApiError(500, "broken", ""));
  session.place.go({ view: "tokens" });
  await settled();
  expect([session.tokens.error.value?.message, session.tokens.now.value]).toEqual(["broken", null]);
  session.tokens.again();
  await settled();
  expect([session.tokens.error.value, session.tokens.now.value?.count]).toEqual([null, 3]);
});

it("selects a range from either end, which another sample leaves behind", async () => {
  const look = session.tokenLook;
  session.place.go({ view: "tokens" });
  await settled();
  look.select(2, 1);
  expect(look.range.value).toEqual({ from: 1, stop: 3 });
  look.extend(1, 0);
  expect(look.range.value).toEqual({ from: 0, stop: 3 });
  look.extend(2, 1);
  expect(look.range.value).toEqual({ from: 0, stop: 2 });
  session.sample.now.value = reply({ turns, reward: 0.5 });
  await settled();
  expect(look.range.value).toBeNull();
});

it("begins at the token of the address, and goes to another", async () => {
  session.place.go({ view: "tokens", token: 2 });
  await settled();
  expect(session.tokenLook.current.value).toEqual({ token: 2, by: "press" });
  session.tokenLook.goTo(1);
  expect([session.place.now.value.token, session.tokenLook.target.value]).toEqual([1, { token: 1 }]);
});
