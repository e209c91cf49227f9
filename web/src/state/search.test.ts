import { createSession } from "./session";
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../api";
import type { SearchEvent } from "../api/types.gen";
import { NO_SEARCH, START } from "../lib/address/address";
import { requestAt } from "./search";

const session = createSession();

vi.mock(import("../api"), async (original) => ({ ...(await original()), search: vi.fn<typeof api.search>() }));

const ASKED = requestAt({ ...START, page: "search", search: { ...NO_SEARCH, text: "a", everywhere: true } });
if (ASKED === null) throw new Error("a text is searched for");

const event = (kind: string): SearchEvent => ({
  search: "1",
  kind,
  hits: [],
  found: 0,
  found_by_run: {},
  found_since: [],
  listed: 0,
  transcripts: [],
  transcripts_found: 0,
  reports: 0,
  known_reports: 0,
  samples: 1,
  known_samples: 2,
  searched_bytes: 1,
  known_bytes: 2,
  from_sources: 0,
  notes: [],
  indexing: [],
});

/** The searches that were begun: what each hears, and its end. */
let begun: { hear: (event: SearchEvent) => void; end: () => void }[] = [];

vi.mocked(api.search).mockImplementation(async (_, signal, hear) => {
  await new Promise<void>((end) => {
    begun.push({ hear, end });
    signal.addEventListener("abort", () => end());
  });
});

beforeEach(() => {
  session.search.stop();
  session.search.results.value = null;
  begun = [];
});

describe("a search", () => {
  it("that is begun while another goes on is heard to its end", async () => {
    session.search.searchNow(ASKED);
    begun[0]?.hear(event("progress"));
    session.search.searchNow(ASKED);
    await Promise.resolve(); // the first has ended by now
    await Promise.resolve();
    begun[1]?.hear(event("over"));
    expect(session.search.results.value?.now?.kind).toBe("over");
    expect(session.search.isSearching.value).toBe(false);
  });
  it("adds up what was found by split and step", () => {
    session.search.searchNow(ASKED);
    const since = (split: string, step: number, found: number): SearchEvent => ({
      ...event("progress"),
      found_since: [{ split, step, found }],
    });
    for (const message of [
      since("train", 2, 3),
      since("eval/a", 2, 1),
      since("train", 1, 4),
      event("progress"),
      since("train", 2, 5),
    ])
      begun[0]?.hear(message);
    expect([...(session.search.results.value?.bySplit.get("train") ?? [])]).toEqual([
      [2, 8],
      [1, 4],
    ]);
    expect(session.search.results.value?.bySplit.get("eval/a")?.get(2)).toBe(1);
    session.search.searchNow(ASKED);
    expect(session.search.results.value?.bySplit.size).toBe(0);
  });
  it("whose connection ends before it does is stopped", async () => {
    session.search.searchNow(ASKED);
    begun[0]?.hear(event("progress"));
    begun[0]?.end();
    await vi.waitFor(() => expect(session.search.results.value?.now?.kind).toBe("stopped"));
  });
});
