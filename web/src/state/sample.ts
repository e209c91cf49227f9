/** The sample that is looked at, whole, and its source record. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getRaw, getSample } from "../api";
import type { RawReply, SampleReply } from "../api/types.gen";
import { Lru } from "../lib/lru";
import { place } from "./place";
import { run } from "./runs";
import { asApiError } from "./session";

interface Kept {
  reply: SampleReply;
  version: string;
}

/** About 60 MB of text. */
const LIMIT_CHARS = 30_000_000;

const kept = new Lru<Kept>(LIMIT_CHARS, ({ reply }) => 2000 + reply.turns.reduce((sum, turn) => sum + turn.chars, 0));

/** The sample last loaded; `isShown` says whether it is the one that the address names. */
export const sample = signal<SampleReply | null>(null);
export const sampleError = signal<ApiError | null>(null);

/** A record and the sample that it is of: ids repeat over runs. */
const record = signal<{ key: string; reply: RawReply | null; error: ApiError | null } | null>(null);

const isOf = (of: { id: string } | null, id: string | null): boolean => of !== null && of.id === id;

export const isShown = computed(
  () => isOf(sample.value, place.value.sample) && sample.value?.run === place.value.run,
);

const keyOf = (runId: string, id: string): string => `${runId}\n${id}`;

const shownRecord = computed(() => {
  const { run: runId, sample: id } = place.value;
  return record.value !== null && record.value.key === keyOf(runId ?? "", id ?? "") ? record.value : null;
});

/** The record of the sample that is looked at, and why it is not there. */
export const raw = computed<RawReply | null>(() => shownRecord.value?.reply ?? null);
export const rawError = computed<ApiError | null>(() => shownRecord.value?.error ?? null);

/** Fetch a sample before it is asked for. */
export async function prefetch(runId: string, id: string): Promise<void> {
  await kept.get(keyOf(runId, id), () => fetched(runId, id));
}

export function forgetSamples(): void {
  kept.clear();
  record.value = null;
}

/** Load the sample again: its place in its group may have changed, or the last try has failed. */
export async function refreshSample(): Promise<void> {
  const { run: runId, sample: id } = place.peek();
  record.value = null;
  if (runId === null || id === null) return;
  await show(runId, id, true);
  if (place.peek().view === "raw") await loadRaw(false);
}

/** Load the source record; `isWhole` where it is larger than is sent at first. */
export async function loadRaw(isWhole: boolean): Promise<void> {
  const { run: runId, sample: id } = place.peek();
  if (runId === null || id === null) return;
  const key = keyOf(runId, id);
  try {
    record.value = { key, reply: await getRaw(runId, id, isWhole), error: null };
  } catch (error) {
    record.value = { key, reply: null, error: asApiError(error) };
  }
}

export function startSample(): void {
  effect(() => {
    const { run: runId, sample: id } = place.value;
    untracked(() => runId !== null && id !== null && void show(runId, id, false));
  });
  effect(() => {
    const { view, sample: id } = place.value;
    if (view === "raw" && id !== null) untracked(() => raw.peek() === null && void loadRaw(false));
  });
}

async function fetched(runId: string, id: string): Promise<Kept> {
  const version = run.peek()?.version ?? "";
  const reply = await getSample(runId, id);
  return { reply, version };
}

async function show(runId: string, id: string, isAsked: boolean): Promise<void> {
  const key = keyOf(runId, id);
  const known = kept.peek(key);
  sampleError.value = null;
  if (known !== undefined) sample.value = known.reply;
  if (!isAsked && known !== undefined && known.version === run.peek()?.version) return;
  try {
    const { reply } = await kept.renew(key, () => fetched(runId, id));
    if (place.peek().sample !== id || place.peek().run !== runId) return;
    if (JSON.stringify(reply) !== JSON.stringify(sample.peek())) sample.value = reply;
  } catch (error) {
    if (place.peek().sample === id) sampleError.value = asApiError(error);
  }
}
