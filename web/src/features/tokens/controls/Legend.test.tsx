import { expect, it, vi } from "vitest";
import * as api from "../../../api";
import { START } from "../../../lib/address/address";
import { createSession } from "../../../state/session";
import { drawn, settled } from "../../../testing/page";
import { part, reply, turn } from "../../../testing/records";
import { tokenPage } from "../../../testing/tokens";
import { Legend } from "./Legend";

vi.mock(import("../../../api"), async (original) => ({
  ...(await original()),
  getTokens: vi.fn<typeof api.getTokens>(),
}));

const session = createSession({ ...START, page: "rollouts", run: "r", sample: "train/1/0/0", view: "tokens" });
session.tokens.start();

async function shown(...kl: number[]): Promise<string> {
  vi.mocked(api.getTokens).mockResolvedValue(tokenPage({ series: { kl } }));
  session.tokens.forget();
  session.sample.now.value = reply({ turns: [turn("assistant", [part("text", "a")], { origin: "response" })] });
  await settled();
  const tokens = session.tokens.now.value;
  if (tokens === null) throw new Error("there are no tokens");
  return (await drawn(<Legend tokens={tokens} />, session)).textContent;
}

it("says of tokens without a tint why they have none", async () => {
  session.place.go({ scales: { kl: { kind: "log", ends: "all", low: NaN, high: NaN } } });
  expect(await shown(0, 0)).toBe("no values above 0: choose another scale");
  expect(await shown(NaN, NaN)).toBe("no values at trained tokens");
  expect(await shown(0, 2)).toBe("all 2");
  expect(await shown(1, 2)).toBe("12");
});

it("says where values lie beyond its ends, and what has no tint", async () => {
  session.place.go({ scales: { kl: { kind: "linear", ends: "out", low: NaN, high: NaN } } });
  expect(await shown(...Array.from({ length: 101 }, (_, i) => i))).toBe("≤ 75≥ 99");
  const title = document.querySelector("[role=img]")?.getAttribute("title");
  expect(title).toBe("The tint grows from 75 to 99. Values below have none. The scale clips: values reach 100.00.");
  session.place.go({ scales: { kl: { kind: "symmetric", ends: "out", low: NaN, high: NaN } } });
  expect(await shown(...Array.from({ length: 101 }, (_, i) => i - 50))).toBe("≤ −49≥ 49");
  expect(document.querySelector("[role=img]")?.getAttribute("title")).toBe(
    "The tint grows from 0 to −49 and to 49. The three quarters of the values nearest to 0 have none. " +
      "The scale clips: values reach −50.000 and 50.000.",
  );
});
