/** The search: what the address asks for is asked of the server as it is typed, and what was found is kept until another text is. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getHits, getSpans, search } from "../api";
import type { SearchEvent, SearchHit, SearchRequest, Span, StepFound, TextSearch, TranscriptHit } from "../api/types.gen";
import type { Place } from "../lib/address";
import { goTo, searched } from "./highlights";
import { place } from "./place";
import { run, runs } from "./runs";
import { sample } from "./sample";
import { asApiError } from "./session";

/** So long after a key the search begins; the one before has ended by then. */
const PAUSE_MS = 150;
const PAGE = 100;

/** Names this tab to the server, which lets it have one search at a time. */
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export interface Results {
  /** What was asked, and from where: links back lead there. */
  key: string;
  home: Partial<Place>;
  asked: SearchRequest;
  /** How far it is; null before the first word. */
  now: Omit<SearchEvent, "hits" | "transcripts" | "found_since"> | null;
  /** Of one run: by split and step how many samples were found. */
  bySplit: ReadonlyMap<string, ReadonlyMap<number, number>>;
  hits: readonly SearchHit[];
  /** Logged conversations that no sample shows. */
  transcripts: readonly TranscriptHit[];
  error: ApiError | null;
  /** The version of each run that was searched, to tell what has come since. */
  versions: ReadonlyMap<string, string>;
}

export const results = signal<Results | null>(null);
/** How far down the results were scrolled, and which hit was opened last. */
export const left = { scrollTop: 0, hit: "" };

export const isSearching = computed(() => {
  const held = results.value;
  return held !== null && held.error === null && (held.now === null || held.now.kind === "progress" || held.now.kind === "waiting");
});

/** Runs that have grown since they were searched. */
export const grown = computed(() => {
  const held = results.value;
  if (held?.now?.kind !== "over") return [];
  return (runs.value ?? []).filter((one) => held.versions.has(one.id) && held.versions.get(one.id) !== one.version && one.progress.phase !== "scalars");
});

/** What a place asks to be searched for; null for nothing. */
export function askedAt({ search: what, run: runId, split, step, extent, where }: Place): SearchRequest | null {
  if (what.text === "") return null;
  const { text, regex, case: isCased, word, role } = what;
  const own: TextSearch = { text, regex, case: isCased, word, roles: role === "" ? [] : [role] };
  const asked: SearchRequest = { tab: TAB, search: own, runs: [], split: "", step_min: null, step_max: null, where, oldest_first: what.oldest };
  if (what.everywhere || runId === null) return asked;
  const [low, high] = extent === "run" ? [null, null] : extent === "step" ? [step, step] : extent;
  if (extent === "step" && (step === null || split === null)) return null; // the page has yet to choose them
  return { ...asked, runs: [runId], split: extent === "run" ? "" : (split ?? ""), step_min: low, step_max: high };
}

let running: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let isLoading = false;

/** End the search that is under way; what it has found stays. */
export function stop(): void {
  clearTimeout(timer);
  running?.abort();
  running = null;
  const held = results.peek();
  if (held !== null && isSearching.peek()) {
    results.value = held.now === null ? null : { ...held, now: { ...held.now, kind: "stopped" } };
  }
}

/** Search now. */
export function begin(asked: SearchRequest): void {
  stop();
  left.scrollTop = 0;
  left.hit = "";
  const own = new AbortController();
  running = own;
  const versions = new Map((runs.peek() ?? []).filter(({ id }) => asked.runs.length === 0 || asked.runs.includes(id)).map((one) => [one.id, one.version]));
  const { run: runId, split, step, extent, where, search: what } = place.peek();
  const home = { page: "search" as const, run: runId, split, step, extent, where, search: what };
  let held: Results = { key: JSON.stringify(asked), home, asked, now: null, bySplit: new Map(), hits: [], transcripts: [], error: null, versions };
  results.value = held;
  const set = (change: Partial<Results>): void => {
    if (running === own) results.value = held = { ...(results.peek() ?? held), ...change };
  };
  search(asked, own.signal, ({ hits, transcripts, found_since: since, ...now }) => {
    const before = results.peek() ?? held;
    set({ now, bySplit: added(before.bySplit, since), hits: joined(before.hits, hits), transcripts: joined(before.transcripts, transcripts) });
  }).then(
    () => {
      if (running !== own) return; // ended by the one that has taken its place
      if (isSearching.peek()) stop(); // the connection ended before the search did
      running = null;
    },
    (error: unknown) => set({ error: asApiError(error) }),
  );
}

function joined<T>(before: readonly T[], since: readonly T[]): readonly T[] {
  return since.length === 0 ? before : [...before, ...since];
}

/** The counts by split and step, with what came in since. */
export function added(counts: Results["bySplit"], since: readonly StepFound[]): Results["bySplit"] {
  if (since.length === 0) return counts;
  const sums = new Map([...counts].map(([split, steps]) => [split, new Map(steps)]));
  for (const { split, step, found } of since) {
    const steps = sums.get(split) ?? new Map<number, number>();
    sums.set(split, steps.set(step, (steps.get(step) ?? 0) + found));
  }
  return sums;
}

/** Ask for the next hits of those that the server keeps. */
export async function more(): Promise<void> {
  const held = results.peek();
  if (isLoading || held === null || held.now === null || held.hits.length >= held.now.listed) return;
  isLoading = true;
  try {
    const reply = await getHits(held.now.search, held.hits.length, PAGE);
    const now = results.peek();
    if (now?.key === held.key && now.hits.length === held.hits.length) results.value = { ...now, hits: [...now.hits, ...reply.hits] };
  } catch (error) {
    if (results.peek()?.key === held.key) results.value = { ...(results.peek() ?? held), error: asApiError(error) };
  } finally {
    isLoading = false;
  }
}

/** Places of the search in the sample on the screen, and whether there are more than are marked. */
export const marked = signal<{ key: string; spans: readonly Span[]; more: boolean } | null>(null);

/** The hit before or after the one on the screen, among those that are listed; null at the ends and where it is none of them. */
export function besides(difference: number): SearchHit | null {
  const hits = results.value?.hits ?? [];
  const here = hits.findIndex((hit) => hit.id === place.value.sample && hit.run === place.value.run);
  return here < 0 ? null : (hits[here + difference] ?? null);
}

export function startSearch(): void {
  effect(() => {
    const at = place.value;
    if (at.page !== "search") {
      untracked(() => {
        clearTimeout(timer);
      });
      return;
    }
    const asked = askedAt(at);
    const key = asked === null ? null : JSON.stringify(asked);
    untracked(() => {
      if (key === (results.peek()?.key ?? null)) return;
      stop();
      if (asked === null) results.value = null;
      else timer = setTimeout(() => begin(asked), PAUSE_MS);
    });
  });
  effect(() => {
    const { page, search: what } = place.value;
    const reply = sample.value;
    const version = run.value?.version;
    if (page !== "rollouts" || what.text === "" || reply === null || reply.id !== place.value.sample || version === undefined) {
      if (what.text === "" || page !== "rollouts") untracked(forget);
      return;
    }
    const key = JSON.stringify([reply.run, reply.id, what]);
    untracked(() => void mark(reply.run, reply.id, key, what));
  });
}

function forget(): void {
  if (marked.peek() !== null) marked.value = null;
  if (searched.peek() !== null) searched.value = null;
}

async function mark(runId: string, id: string, key: string, what: Place["search"]): Promise<void> {
  if (marked.peek()?.key === key) return;
  forget();
  const { text, regex, case: isCased, word, role } = what;
  try {
    const reply = await getSpans(runId, id, { text, regex, case: isCased, word, roles: role === "" ? [] : [role] });
    const { sample: now, search: wanted } = place.peek();
    if (now !== id || JSON.stringify([runId, id, wanted]) !== key) return;
    marked.value = { key, spans: reply.spans, more: reply.more };
    searched.value = { run: runId, sample: id, spans: reply.spans };
    const [first] = reply.spans;
    if (first !== undefined) await goTo(first);
  } catch {
    // The sample is read without marks; the search itself says what is wrong with it.
  }
}
