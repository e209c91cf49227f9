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

export const raw = signal<RawReply | null>(null);
export const rawError = signal<ApiError | null>(null);

const isOf = (of: { id: string } | null, id: string | null): boolean => of !== null && of.id === id;

export const isShown = computed(
  () => isOf(sample.value, place.value.sample) && sample.value?.run === place.value.run,
);

export const isRawShown = computed(() => isOf(raw.value, place.value.sample));

const keyOf = (runId: string, id: string): string => `${runId}\n${id}`;

/** Fetch a sample before it is asked for. */
export async function prefetch(runId: string, id: string): Promise<void> {
  await kept.get(keyOf(runId, id), () => fetched(runId, id));
}

export function forgetSamples(): void {
  kept.clear();
}

/** Load the sample again: its place in its group may have changed, or the last try has failed. */
export async function refreshSample(): Promise<void> {
  const { run: runId, sample: id } = place.peek();
  if (runId !== null && id !== null) await show(runId, id, true);
}

/** Load the source record; `isWhole` where it is larger than is sent at first. */
export async function loadRaw(isWhole: boolean): Promise<void> {
  const { run: runId, sample: id } = place.peek();
  if (runId === null || id === null) return;
  rawError.value = null;
  try {
    const reply = await getRaw(runId, id, isWhole);
    if (place.peek().sample === id && place.peek().run === runId) raw.value = reply;
  } catch (error) {
    if (place.peek().sample === id) rawError.value = asApiError(error);
  }
}

export function startSample(): void {
  effect(() => {
    const { run: runId, sample: id } = place.value;
    untracked(() => runId !== null && id !== null && void show(runId, id, false));
  });
  effect(() => {
    const { view, sample: id } = place.value;
    if (view === "raw" && id !== null) untracked(() => !isRawShown.peek() && void loadRaw(false));
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
