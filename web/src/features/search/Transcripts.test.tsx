import { createSession } from "../../state/session";
import { expect, it } from "vitest";
import type { SearchRequest, TranscriptHit } from "../../api/types.gen";
import { NO_SEARCH, START } from "../../lib/address/address";
import type { Results } from "../../state/search";
import { drawn } from "../../testing/page";
import { Transcripts } from "./Transcripts";

const session = createSession();

const hit: TranscriptHit = {
  run: "r",
  split: "eval/a",
  step: 3,
  title: "Group Rollout 1 / Judge",
  at: "0.3.1",
  more: true,
  snippets: [{ role: "assistant", pieces: ["it is ", "right", " \u202eevil"], is_start: true, is_end: false }],
};
const results = (transcripts: readonly TranscriptHit[], found: number): Results => ({
  key: "",
  home: {},
  request: { runs: ["r"] } as unknown as SearchRequest,
  now: { transcripts_found: found } as Results["now"],
  bySplit: new Map(),
  hits: [],
  transcripts,
  error: null,
  versions: new Map(),
});

it("a logged conversation leads to its place in the report", async () => {
  session.place.now.value = {
    ...START,
    page: "search",
    run: "r",
    split: "train",
    step: 1,
    extent: "run",
    search: { ...NO_SEARCH, text: "right" },
  };
  const host = await drawn(<Transcripts results={results([hit], 7)} onKey={() => undefined} />, session);
  const link = host.querySelector("a");
  expect(link?.getAttribute("href")).toContain("runs/r/report?split=eval/a&step=3");
  expect(link?.getAttribute("href")).toContain("at=0.3.1");
  expect(link?.tabIndex).toBe(0);
  expect([host.querySelector("mark")?.textContent, host.textContent?.includes("Group Rollout 1 / Judge")]).toEqual([
    "right",
    true,
  ]);
  expect(host.querySelector("h2")?.textContent).toContain("1 of 7 conversations");
  const none = await drawn(<Transcripts results={results([], 0)} onKey={() => undefined} />, session);
  expect(none.textContent).toBe("");
});
