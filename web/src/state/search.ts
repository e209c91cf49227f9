/** The search: requests follow the typed text, and results stay until the text changes. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getHits, getSpans, search } from "../api";
import type {
  SearchEvent,
  SearchHit,
  SearchRequest,
  Span,
  StepFound,
  TextQuery,
  TranscriptHit,
} from "../api/types.gen";
import type { Place } from "../lib/address/address";
import { runs } from "./runs";
import { asApiError } from "./browser/login";
import { Store } from "./store";

/** How long after a key the search begins; the previous one has ended by then. */
const PAUSE_MS = 150;

const PAGE = 100;

/** Identifies this tab to the server, which allows it one search at a time. */
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join(
  "",
);

export interface Results {
  /** The request, and the place that it came from, to which links lead back. */
  key: string;
  home: Partial<Place>;
  request: SearchRequest;
  /** The progress; null until the first event. */
  now: Omit<SearchEvent, "hits" | "transcripts" | "found_since"> | null;
  /** For one run: the number of matching samples by split and step. */
  bySplit: ReadonlyMap<string, ReadonlyMap<number, number>>;
  hits: readonly SearchHit[];
  /** Logged conversations that no sample shows. */
  transcripts: readonly TranscriptHit[];
  error: ApiError | null;
  /** The version of each searched run, to detect later changes. */
  versions: ReadonlyMap<string, string>;
}

/** The scroll position of the results, and the hit opened last. */
export const returnPoint = { scrollTop: 0, hit: "" };

/** The search of a place; null for none. */
export function requestAt({ search: what, run: runId, split, step, extent, where }: Place): SearchRequest | null {
  if (what.text === "") return null;
  const { text, regex, case: isCased, word, role } = what;
  const textSearch: TextQuery = { text, regex, case: isCased, word, roles: role === "" ? [] : [role] };
  const request: SearchRequest = {
    tab: TAB,
    search: textSearch,
    runs: [],
    split: "",
    step_min: null,
    step_max: null,
    where,
    oldest_first: what.oldest,
  };
  if (what.everywhere || runId === null) return request;
  const [low, high] = extent === "run" ? [null, null] : extent === "step" ? [step, step] : extent;
  if (extent === "step" && (step === null || split === null)) return null; // the page has yet to choose them
  return { ...request, runs: [runId], split: extent === "run" ? "" : (split ?? ""), step_min: low, step_max: high };
}

let timer: ReturnType<typeof setTimeout> | undefined;

function joined<T>(before: readonly T[], since: readonly T[]): readonly T[] {
  return since.length === 0 ? before : [...before, ...since];
}

/** The counts by split and step, with the new ones added. */
export function added(counts: Results["bySplit"], since: readonly StepFound[]): Results["bySplit"] {
  if (since.length === 0) return counts;
  const sums = new Map([...counts].map(([split, steps]) => [split, new Map(steps)]));
  for (const { split, step, found } of since) {
    const steps = sums.get(split) ?? new Map<number, number>();
    sums.set(split, steps.set(step, (steps.get(step) ?? 0) + found));
  }
  return sums;
}

export class SearchStore extends Store {
  readonly results = signal<Results | null>(null);

  readonly isSearching = computed(() => {
    const current = this.results.value;
    return (
      current !== null &&
      current.error === null &&
      (current.now === null || current.now.kind === "progress" || current.now.kind === "waiting")
    );
  });

  /** Runs that have grown since they were searched. */
  readonly grown = computed(() => {
    const current = this.results.value;
    if (current?.now?.kind !== "over") return [];
    return (runs.value ?? []).filter(
      (one) =>
        current.versions.has(one.id) &&
        current.versions.get(one.id) !== one.version &&
        one.progress.phase !== "scalars",
    );
  });

  #running: AbortController | null = null;

  #isLoading = false;

  /** End the current search; its results stay. */
  readonly stop = (): void => {
    clearTimeout(timer);
    this.#running?.abort();
    this.#running = null;
    const current = this.results.peek();
    if (current !== null && this.isSearching.peek()) {
      this.results.value = current.now === null ? null : { ...current, now: { ...current.now, kind: "stopped" } };
    }
  };

  /** Search now. */
  searchNow(request: SearchRequest): void {
    this.stop();
    returnPoint.scrollTop = 0;
    returnPoint.hit = "";
    const controller = new AbortController();
    this.#running = controller;
    const versions = new Map(
      (runs.peek() ?? [])
        .filter(({ id }) => request.runs.length === 0 || request.runs.includes(id))
        .map((one) => [one.id, one.version]),
    );
    const { run: runId, split, step, extent, where, search: what } = this.session.place.now.peek();
    const home = { page: "search" as const, run: runId, split, step, extent, where, search: what };
    let current: Results = {
      key: JSON.stringify(request),
      home,
      request,
      now: null,
      bySplit: new Map(),
      hits: [],
      transcripts: [],
      error: null,
      versions,
    };
    this.results.value = current;
    const set = (change: Partial<Results>): void => {
      if (this.#running === controller)
        this.results.value = current = { ...(this.results.peek() ?? current), ...change };
    };
    search(request, controller.signal, ({ hits, transcripts, found_since: since, ...now }) => {
      const before = this.results.peek() ?? current;
      set({
        now,
        bySplit: added(before.bySplit, since),
        hits: joined(before.hits, hits),
        transcripts: joined(before.transcripts, transcripts),
      });
    }).then(
      () => {
        if (this.#running !== controller) return; // another search has replaced it
        if (this.isSearching.peek()) this.stop(); // the connection ended before the search did
        this.#running = null;
      },
      (error: unknown) => set({ error: asApiError(error) }),
    );
  }

  /** Load the next hits that the server keeps. */
  async more(): Promise<void> {
    const current = this.results.peek();
    if (this.#isLoading || current === null || current.now === null || current.hits.length >= current.now.listed)
      return;
    this.#isLoading = true;
    try {
      const reply = await getHits(current.now.search, current.hits.length, PAGE);
      const now = this.results.peek();
      if (now?.key === current.key && now.hits.length === current.hits.length)
        this.results.value = { ...now, hits: [...now.hits, ...reply.hits] };
    } catch (error) {
      if (this.results.peek()?.key === current.key)
        this.results.value = { ...(this.results.peek() ?? current), error: asApiError(error) };
    } finally {
      this.#isLoading = false;
    }
  }

  /** The hits in the sample on the screen, and whether there are more than are marked. */
  readonly marked = signal<{ key: string; spans: readonly Span[]; more: boolean } | null>(null);

  /** The listed hit before or after the one on the screen; null at the ends, and if the sample is not a hit. */
  besides(difference: number): SearchHit | null {
    const hits = this.results.value?.hits ?? [];
    const here = hits.findIndex(
      (hit) => hit.id === this.session.place.now.value.sample && hit.run === this.session.place.now.value.run,
    );
    return here < 0 ? null : (hits[here + difference] ?? null);
  }

  start(): void {
    this.effect(() => {
      const at = this.session.place.now.value;
      if (at.page !== "search") {
        untracked(() => {
          clearTimeout(timer);
        });
        return;
      }
      const request = requestAt(at);
      const key = request === null ? null : JSON.stringify(request);
      untracked(() => {
        if (key === (this.results.peek()?.key ?? null)) return;
        this.stop();
        if (request === null) this.results.value = null;
        else timer = setTimeout(() => this.searchNow(request), PAUSE_MS);
      });
    });
    this.effect(() => {
      const { page, search: what } = this.session.place.now.value;
      const reply = this.session.sample.now.value;
      const version = this.session.run.now.value?.version;
      if (
        page !== "rollouts" ||
        what.text === "" ||
        reply === null ||
        reply.id !== this.session.place.now.value.sample ||
        version === undefined
      ) {
        if (what.text === "" || page !== "rollouts") untracked(this.#forget);
        return;
      }
      const key = JSON.stringify([reply.run, reply.id, what]);
      untracked(() => void this.#mark(reply.run, reply.id, key, what));
    });
  }

  readonly #forget = (): void => {
    if (this.marked.peek() !== null) this.marked.value = null;
    if (this.session.highlights.searched.peek() !== null) this.session.highlights.searched.value = null;
  };

  async #mark(runId: string, id: string, key: string, what: Place["search"]): Promise<void> {
    if (this.marked.peek()?.key === key) return;
    this.#forget();
    const { text, regex, case: isCased, word, role } = what;
    try {
      const reply = await getSpans(runId, id, { text, regex, case: isCased, word, roles: role === "" ? [] : [role] });
      const { sample: now, search: wanted } = this.session.place.now.peek();
      if (now !== id || JSON.stringify([runId, id, wanted]) !== key) return;
      this.marked.value = { key, spans: reply.spans, more: reply.more };
      this.session.highlights.searched.value = { run: runId, sample: id, spans: reply.spans };
      const [first] = reply.spans;
      if (first !== undefined) await this.session.highlights.goTo(first);
    } catch {
      // The sample appears without marks; the search itself reports its error.
    }
  }
}
