import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../../api";
import { START } from "../../../lib/address/address";
import { createSession } from "../../../state/session";
import { drawn, settled } from "../../../testing/page";
import { part, reply, turn } from "../../../testing/records";
import { tokenPage } from "../../../testing/tokens";
import { Card } from "./Card";

vi.mock(import("../../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
  getTopLogprobs: vi.fn<typeof api.getTopLogprobs>(),
}));

const session = createSession({ ...START, page: "rollouts", run: "r", sample: "train/1/0/0", view: "tokens" });
session.tokens.start();
session.tokenAlternatives.start();

beforeEach(() => {
  vi.mocked(api.getTopLogprobs)
    .mockReset()
    .mockImplementation(async (_run, id, token) => ({
      id,
      token,
      alternatives: [
        { text: "Ġno", logprob: Math.log(0.75), is_chosen: false },
        { text: "<b>\u202E", logprob: Math.log(0.25), is_chosen: token === 1 },
        { text: "odd", logprob: 900, is_chosen: false },
      ],
    }));
});

/** The rows of alternatives in the card of the second token. */
async function shown(hasAlternatives: boolean, more = {}): Promise<HTMLElement[]> {
  vi.mocked(api.getTokens).mockResolvedValue(
    tokenPage({ text: ["Ġa", "Ġyes"], series: { logprobs: [-1, -2] }, spelling: "bytes", hasAlternatives, ...more }),
  );
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
  session.tokenLook.current.value = { token: 1, by: "keys" };
  const tokens = session.tokens.now.value;
  if (tokens === null) throw new Error("there are no tokens");
  const none = () => null;
  const card = <Card tokens={tokens} elementOf={none} shown={none} scroller={{ current: null }} />;
  const host = await drawn(card, session);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await settled();
  return [...host.querySelectorAll<HTMLElement>('[aria-label="Alternatives of the token"] > div')];
}

it("shows the alternatives of a token with their probabilities, and marks the chosen one", async () => {
  const rows = await shown(true);
  expect(rows.map((row) => row.querySelector("dd")?.textContent)).toEqual(["0.750", "0.250", "1.00"]);
  expect(rows.map((row) => row.querySelector("i")?.style.width)).toEqual(["75%", "25%", "100%"]);
  expect(rows.map((row) => row.dataset["current"])).toEqual(["false", "true", "false"]);
  expect(rows.map((row) => row.textContent.includes("chosen"))).toEqual([false, true, false]);
  expect(rows[0]?.querySelector("dt")?.textContent).not.toContain("Ġ");
  expect(rows[1]?.textContent).not.toContain("\u202E");
  expect(api.getTopLogprobs).toHaveBeenCalledWith("r", "train/1/0/0", 1, undefined);
});

it("says little at first, and has all other values and all digits once the reader asks", async () => {
  const press = async (name: string): Promise<void> => {
    [...document.querySelectorAll("button")].find((one) => one.textContent === name)?.click();
    await settled();
  };
  const rows = () => [...document.querySelectorAll("dl > div")].map((row) => row.textContent);
  const others = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, [0, 0.1234567]]));
  const logprobs = { logprobs: [-1, -0.638421893119], ref_logprobs: [-1, -2.5] };
  await shown(false, { series: { ...logprobs, kl_k3: [0, 1.9142], advantages: [1, 0.5361], ...others } });
  const few = [
    "Logprob at sampling · reference−0.638 · −2.50",
    "kl_k31.91",
    "advantages0.536",
    "This updatewould push up",
  ];
  expect(rows()).toEqual(few);
  expect(document.querySelector("dd")?.title).toBe("-0.638421893119 · -2.5");
  await press("More");
  expect(rows().slice(4, 6)).toEqual(["a0.12346", "b0.12346"]);
  await press("All digits");
  expect(rows()[0]).toContain("-0.638421893119");
  await press("Less");
  expect(rows()).toEqual(few);
});

it("asks for alternatives only where the record has some", async () => {
  expect(await shown(false)).toEqual([]);
  expect(api.getTopLogprobs).not.toHaveBeenCalled();
});

it("shows the bytes of a decoded token that is a part of a character", async () => {
  await shown(false, { text: ["", "🎉"], ids: [8, 9], spelling: "plain", partial: { 8: "F0 9F", 9: "8E 89" } });
  expect(document.querySelector("code")?.textContent).toBe("bytes 8E 89");
});

it("says what failed", async () => {
  vi.mocked(api.getTopLogprobs).mockRejectedValue(new api.ApiError(500, "broken", ""));
  expect(await shown(true)).toEqual([]);
  expect(document.body.textContent).toContain("Alternatives: broken");
});
