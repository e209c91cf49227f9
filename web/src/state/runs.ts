/** The runs of the server: one list for the page. */

import { signal } from "@preact/signals";
import { type ApiError, getRuns } from "../api";
import type { NoteView, RunItem } from "../api/types.gen";
import type { Place } from "../lib/address/address";
import { asApiError } from "./browser/login";

export const runs = signal<readonly RunItem[] | null>(null);
export const notes = signal<readonly NoteView[]>([]);
export const program = signal("");
export const runsError = signal<ApiError | null>(null);

/** The time of the last news about each run, by the clock of the page: `changed_s` counts from there. */
const updatedAt = new Map<string, number>();

export async function loadRuns(): Promise<void> {
  try {
    const reply = await getRuns();
    for (const one of reply.runs) updatedAt.set(one.id, performance.now());
    runs.value = reply.runs;
    notes.value = reply.notes;
    program.value = reply.program;
    runsError.value = null;
  } catch (error) {
    runsError.value = asApiError(error);
  }
}

/** Store the server's news about a run. */
export function updateRun(item: RunItem): void {
  updatedAt.set(item.id, performance.now());
  const all = runs.peek();
  if (all === null) return;
  const isKnown = all.some((one) => one.id === item.id);
  runs.value = isKnown ? all.map((one) => (one.id === item.id ? item : one)) : [...all, item];
}

/** Seconds since the files of a run changed; null if unknown. */
export function changedS(item: RunItem): number | null {
  const since = updatedAt.get(item.id);
  if (item.changed_s === null) return null;
  return item.changed_s + (since === undefined ? 0 : (performance.now() - since) / 1000);
}

/** The place that a run opens at: its rollouts, or its metrics if it has nothing else. */
export const placeOf = (item: RunItem): Pick<Place, "page" | "run"> => ({
  page: item.has_metrics_alone ? "metrics" : "rollouts",
  run: item.id,
});

/** The number of samples in a run, in all splits. */
export function samplesOf(item: RunItem): number {
  return item.splits.reduce((sum, one) => sum + one.samples, 0);
}
