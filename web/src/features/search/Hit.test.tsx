import { createSession } from "../../state/session";
import { describe, expect, it } from "vitest";
import type { SearchHit } from "../../api/types.gen";
import { NO_SEARCH, START } from "../../lib/address/address";
import { drawn } from "../../testing/page";
import { Hit } from "./Hit";

const session = createSession();

const hit: SearchHit = {
  run: "r",
  id: "train/1/0/3",
  split: "train",
  step: 1,
  group: "0",
  index: "3",
  reward: 1,
  status: "completed",
  discarded: "",
  snippets: [],
  more: false,
};
const usual = { isNewStep: false, isFirst: true, hasRun: false, onKey: () => undefined };

describe("a hit", () => {
  it("leads to its sample, and says why that was not trained on", async () => {
    session.place.now.value = {
      ...START,
      page: "search",
      run: "r",
      split: "train",
      step: 1,
      search: { ...NO_SEARCH, text: "a" },
    };
    const discardedHit = await drawn(<Hit {...usual} hit={{ ...hit, discarded: "max_async" }} />, session);
    expect(discardedHit.querySelector('[title="Not trained on: max_async"]')?.textContent).toBe("max_async");
    expect(discardedHit.querySelector("a")?.getAttribute("href")).toContain("/discarded?");
    const cut = await drawn(<Hit {...usual} hit={{ ...hit, status: "truncated", discarded: "truncated" }} />, session);
    expect(cut.textContent.split("truncated")).toHaveLength(2);
    const usualHit = await drawn(<Hit {...usual} hit={hit} />, session);
    expect(usualHit.textContent).not.toContain("max_async");
    expect(usualHit.querySelector("a")?.getAttribute("href")).toContain("sample=train/1/0/3");
    expect(usualHit.querySelector("a")?.getAttribute("href")).not.toContain("/discarded");
  });
});
