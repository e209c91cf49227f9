/** Texts of the sample that are read block by block: its record, and the whole of it as one text. */

import { effect, signal, untracked } from "@preact/signals";
import { type ApiError, getRaw, getText } from "../api";
import type { RawReply, TextReply } from "../api/types.gen";
import { place } from "./place";
import { asApiError } from "./session";

export interface Block<T> {
  reply: T | null;
  error: ApiError | null;
}

interface Held<T> extends Block<T> {
  /** Ids repeat over runs. */
  key: string;
}

const NOTHING = { reply: null, error: null };
const record = signal<Held<RawReply> | null>(null);
const whole = signal<Held<TextReply> | null>(null);

function keyNow(): string {
  const { run, sample } = place.value;
  return `${run ?? ""}\n${sample ?? ""}`;
}

/** The block of the record that is looked at, and why there is none. */
export function rawBlock(): Block<RawReply> {
  return record.value?.key === keyNow() ? record.value : NOTHING;
}

/** The same of the sample as one text. */
export function textBlock(): Block<TextReply> {
  return whole.value?.key === keyNow() ? whole.value : NOTHING;
}

export const loadRaw = (start: number): Promise<void> => load(record, getRaw, start);
export const loadText = (start: number): Promise<void> => load(whole, getText, start);

export function forgetBlocks(): void {
  record.value = null;
  whole.value = null;
}

/** Load what is looked at again, from its start. */
export async function refreshBlocks(): Promise<void> {
  forgetBlocks();
  await wanted(place.peek().view);
}

export function startBlocks(): void {
  effect(() => {
    const { view, sample } = place.value;
    if (sample !== null) untracked(() => void wanted(view));
  });
}

async function wanted(view: string): Promise<void> {
  if (view === "raw" && rawBlock().reply === null) await loadRaw(0);
  if (view === "text" && textBlock().reply === null) await loadText(0);
}

async function load<T>(into: { value: Held<T> | null }, ask: (run: string, id: string, start: number) => Promise<T>, start: number): Promise<void> {
  const { run, sample } = place.peek();
  if (run === null || sample === null) return;
  const key = `${run}\n${sample}`;
  try {
    into.value = { key, reply: await ask(run, sample, start), error: null };
  } catch (error) {
    into.value = { key, reply: null, error: asApiError(error) };
  }
}
