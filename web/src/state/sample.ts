/** The sample that is looked at, whole, or the page of its turns that is. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getSample, getTurns } from "../api";
import type { SampleReply, TurnsReply } from "../api/types.gen";
import { cutsLines } from "../lib/chunks";
import { Lru } from "../lib/lru";
import { forgetBlocks, refreshBlocks, startBlocks } from "./blocks";
import { place } from "./place";
import { promptAfter } from "./render";
import { run } from "./runs";
import { asApiError } from "./session";

interface Kept {
  reply: SampleReply;
  version: string;
}

/** About 60 MB of text. */
const LIMIT_CHARS = 30_000_000;

const kept = new Lru<Kept>(LIMIT_CHARS, ({ reply }) => 2000 + reply.turns.reduce((sum, turn) => sum + turn.chars, JSON.stringify(reply.extra ?? null).length));

/** The sample last loaded; `isShown` says whether it is the one that the address names. */
export const sample = signal<SampleReply | null>(null);

/** What failed last, and for which sample. */
const failure = signal<{ key: string; error: ApiError } | null>(null);

const isOf = (of: { id: string } | null, id: string | null): boolean => of !== null && of.id === id;

export const isShown = computed(
  () => isOf(sample.value, place.value.sample) && sample.value?.run === place.value.run,
);

const keyOf = (runId: string, id: string): string => `${runId}\n${id}`;

/** Why the sample that the address names could not be loaded. It stands until there is an answer. */
export const sampleError = computed(() => {
  const { run: runId, sample: id } = place.value;
  return failure.value !== null && failure.value.key === keyOf(runId ?? "", id ?? "") ? failure.value.error : null;
});

/** A page of the turns of a sample that has more than are sent at once. */
const turned = signal<{ key: string; page: TurnsReply } | null>(null);
export const pageError = signal<ApiError | null>(null);

/** The turns that are shown, and where they stand among all: those the sample came with, or the page that was gone to. */
export const page = computed<Page | null>(() => (sample.value === null ? null : pageOf(sample.value)));

export function pageOf(reply: SampleReply): Page {
  const held = turned.value;
  return held !== null && held.key === pageKey(reply) ? held.page : reply;
}

/** So much text a browser finds its way through by itself. */
export const NATIVE_CHARS = 1_000_000;

/** True where all of a sample is in the page, what is folded too, and no line of it in two boxes, so that the browser's own find finds it. */
export const isNative = computed(
  () => sample.value !== null && sample.value.chars <= NATIVE_CHARS && sample.value.turn_total <= sample.value.turns.length && !sample.value.turns.some(({ parts }) => parts.some(({ text }) => cutsLines(text))),
);

export type Page = Pick<TurnsReply, "turns" | "turn_from" | "turn_total">;

const pageKey = (reply: SampleReply): string => `${keyOf(reply.run, reply.id)}\n${promptAfter.value}`;

let turnings = 0;

/** Go to a page of turns: one that begins at a turn, or one that ends there. The last one asked for counts. */
export async function goTurns(at: { from?: number; until?: number }): Promise<void> {
  const reply = sample.peek();
  if (reply === null) return;
  const key = untracked(() => pageKey(reply));
  turnings += 1;
  const own = turnings;
  const isWanted = (): boolean => own === turnings && sample.peek()?.id === reply.id && sample.peek()?.run === reply.run;
  pageError.value = null;
  try {
    const found = await getTurns(reply.run, reply.id, at, promptAfter.peek() || undefined);
    if (isWanted()) turned.value = { key, page: found };
  } catch (error) {
    if (isWanted()) pageError.value = asApiError(error);
  }
}

/** Fetch a sample before it is asked for. */
export async function prefetch(runId: string, id: string): Promise<void> {
  await kept.get(keyOf(runId, id), () => fetched(runId, id));
}

export function forgetSamples(): void {
  kept.clear();
  turned.value = null;
  forgetBlocks();
}

/** Load the sample again: its place in its group may have changed, or the last try has failed. */
export async function refreshSample(): Promise<void> {
  const { run: runId, sample: id } = place.peek();
  turned.value = null;
  if (runId === null || id === null) return;
  await show(runId, id, true);
  await refreshBlocks();
}

/** True where the sample that is shown is as it was when it was loaded. */
export async function isSame(): Promise<boolean> {
  const shown = sample.peek();
  if (shown === null) return true;
  const { reply } = await fetched(shown.run, shown.id);
  return sample.peek() !== shown || JSON.stringify(reply) === JSON.stringify(shown);
}

export function startSample(): void {
  let lastAfter = promptAfter.peek();
  effect(() => {
    const { run: runId, sample: id } = place.value;
    if (promptAfter.value !== lastAfter) {
      lastAfter = promptAfter.value; // what was loaded is divided in another way
      kept.clear();
    }
    untracked(() => runId !== null && id !== null && void show(runId, id, false));
  });
  startBlocks();
}

async function fetched(runId: string, id: string): Promise<Kept> {
  const version = run.peek()?.version ?? "";
  const reply = await getSample(runId, id, promptAfter.peek() || undefined);
  return { reply, version };
}

async function show(runId: string, id: string, isAsked: boolean): Promise<void> {
  const key = keyOf(runId, id);
  const after = promptAfter.peek();
  const known = kept.peek(key);
  pageError.value = null;
  if (known !== undefined) sample.value = known.reply;
  if (!isAsked && known !== undefined && known.version === run.peek()?.version) return;
  try {
    const { reply } = await kept.renew(key, () => fetched(runId, id));
    if (place.peek().sample !== id || place.peek().run !== runId) return;
    if (promptAfter.peek() !== after) return; // divided in another way by now: that answer comes, too
    failure.value = null;
    if (JSON.stringify(reply) !== JSON.stringify(sample.peek())) sample.value = reply;
  } catch (error) {
    if (place.peek().sample !== id || place.peek().run !== runId) return;
    failure.value = { key, error: asApiError(error) };
  }
}
