/** The runs of the server: one list for the page. */

import { computed, signal } from "@preact/signals";
import { type ApiError, getRuns } from "../api";
import type { NoteView, RunItem } from "../api/types.gen";
import type { Place } from "../lib/address/address";
import { asApiError } from "./browser/login";

export const runs = signal<readonly RunItem[] | null>(null);
export const notes = signal<readonly NoteView[]>([]);
export const program = signal("");
/** The run that the start page leads to; empty: the list of runs. */
export const opensOn = signal("");
/** True while the server still looks for runs. */
export const isSearching = signal(false);
export const runsError = signal<ApiError | null>(null);

/** The runs by their ids, and their places in the list. */
const places = computed(() => new Map((runs.value ?? []).map((item, i) => [item.id, i])));

/** News about runs that the list does not show yet. */
const news = new Map<string, RunItem>();
let showing: ReturnType<typeof setTimeout> | undefined;
const SHOW_MS = 50;
/** A long list takes longer to draw, and changes less often. */
const SHOW_MS_A_RUN = 0.1;

/** The time of the last news about each run, by the clock of the page: `changed_s` counts from there. */
const updatedAt = new Map<string, number>();

export async function loadRuns(): Promise<void> {
  try {
    const reply = await getRuns();
    for (const one of reply.runs) updatedAt.set(one.id, performance.now());
    news.clear();
    isSearching.value = reply.searching;
    opensOn.value = reply.opens_on;
    runs.value = reply.runs;
    notes.value = reply.notes;
    program.value = reply.program;
    runsError.value = null;
  } catch (error) {
    runsError.value = asApiError(error);
  }
}

/** Store the server's news about a run. News about several runs show together. */
export function updateRun(item: RunItem): void {
  updatedAt.set(item.id, performance.now());
  news.set(item.id, item);
  showing ??= setTimeout(showNews, SHOW_MS + SHOW_MS_A_RUN * (runs.peek()?.length ?? 0));
}

function showNews(): void {
  showing = undefined;
  const all = runs.peek();
  if (all === null || news.size === 0) return;
  const next = [...all];
  for (const [id, item] of news) next[places.peek().get(id) ?? next.length] = item;
  news.clear();
  runs.value = next;
}

/** The place of a run in the list, from 0; -1 if it is not open. */
export const placeOfRun = (id: string): number => places.value.get(id) ?? -1;

/** The run with this id, if it is open. */
export const runOf = (id: string | null | undefined): RunItem | undefined => runs.value?.[placeOfRun(id ?? "")];

/** The names of runs that share a name, by id: each with as many parent folders as it needs to differ. */
const longNames = computed(() => {
  const byName = new Map<string, RunItem[]>();
  for (const item of runs.value ?? []) byName.set(item.name, [...(byName.get(item.name) ?? []), item]);
  const found = new Map<string, string>();
  for (const alike of byName.values()) {
    const above = alike.map(({ path }) => path.split("/").slice(1, -1));
    const deepest = Math.max(...above.map(({ length }) => length));
    const named = (count: number) => alike.map(({ name }, i) => [...(above[i] ?? []).slice(-count), name].join("-"));
    let count = 1;
    while (count < deepest && new Set(named(count)).size < alike.length) count++;
    if (alike.length > 1) named(count).forEach((name, i) => found.set(alike[i]?.id ?? "", name));
  }
  return found;
});

/** The name of a run, by which it differs from the others. */
export const ownNameOf = (item: RunItem): string => longNames.value.get(item.id) ?? item.name;

/** Seconds since the files of a run changed; null if unknown. */
export function changedS(item: RunItem): number | null {
  const since = updatedAt.get(item.id);
  if (item.changed_s === null) return null;
  return item.changed_s + (since === undefined ? 0 : (performance.now() - since) / 1000);
}

/** The views that samples of a format open in, as in the trainer's own viewer; others open as transcripts. */
const VIEWS_OF: ReadonlyMap<string, Place["view"]> = new Map([["prime_rl", "tokens"]]);

/** The page that a run opens on: its rollouts, or its metrics if it has nothing else. */
export const placeOf = (item: RunItem): Pick<Place, "page" | "run"> & Partial<Place> => {
  const view = VIEWS_OF.get(item.format);
  return {
    page: item.has_metrics_alone ? "metrics" : "rollouts",
    run: item.id,
    ...(view === undefined ? {} : { view }),
  };
};

/** The number of samples in a run, in all splits. */
export function samplesOf(item: RunItem): number {
  return item.splits.reduce((sum, one) => sum + one.samples, 0);
}
