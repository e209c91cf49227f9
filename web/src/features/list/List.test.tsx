import { expect, it } from "vitest";
import { START } from "../../lib/address/address";
import { keyOf } from "../../lib/list/scope";
import type { Listing } from "../../state/list/list";
import { createSession } from "../../state/session";
import { drawn } from "../../testing/page";
import { Lacking, Total } from "./List";

it("says how many discarded samples match a filter too, and which samples lack what it names", async () => {
  const session = createSession({
    ...START,
    page: "rollouts",
    run: "r",
    split: "train",
    step: 1,
    where: "max_kl > 1",
    mode: "samples",
  });
  const scope = session.list.scopeAt(session.place.now.peek());
  if (scope === null) throw new Error("a step is a scope");
  const counts = { total: 8, of: 16, pending: 0, discarded: 5, reasons: ["3 lack it."] };
  const list = { scope, key: keyOf(scope), columns: [], mode: "samples", ...counts } satisfies Partial<Listing>;
  session.list.now.value = list as unknown as Listing;
  const host = await drawn(
    <>
      <Total />
      <Lacking />
    </>,
    session,
  );
  expect(host.textContent).toBe("8 of 16 samples + 5 discarded3 lack it.");
  const link = host.querySelector("a");
  expect(link?.title).toBe("5 discarded samples match the filter too: see them");
  expect(link?.getAttribute("href")).toMatch(/discarded\?.*where=max_kl/);
});

it("says how far a list is that the reader waits for", async () => {
  const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", where: "reward > 1" });
  session.pages.counting.value = { done: 30_000_000, of: 100_000_000, found: 1234 };
  const host = await drawn(<Total />, session);
  expect(host.textContent).toBe("30% · 1,234 found");
  expect(host.querySelector("span")?.title).toBe("30,000,000 of 100,000,000 samples looked at");
});
