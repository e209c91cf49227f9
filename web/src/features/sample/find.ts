/** Find within the sample: the server says where a text stands, and this goes from place to place. */

import { batch, computed, effect, signal } from "@preact/signals";
import { findIn } from "../../api";
import type { FindReply } from "../../api/types.gen";
import { finding, goTo, target } from "../../state/highlights";
import { promptAfter } from "../../state/render";
import { isNative, sample } from "../../state/sample";
import { place } from "../../state/place";
import { asApiError } from "../../state/session";

const PAUSE_MS = 150;

export const isFinding = signal(false);
export const wanted = signal("");
export const isCased = signal(false);
export const findError = signal<string | null>(null);

const result = signal<FindReply | null>(null);
const at = signal(0);

/** `3 of 1,204`: the place that is looked at, from 1, and how many there are; null while nothing is known. */
export const standing = computed(() => (result.value === null ? null : { at: result.value.spans.length === 0 ? 0 : at.value + 1, total: result.value.total, known: result.value.spans.length }));

/** Ours is for what the browser cannot find by itself: it has only a part of such a sample. */
export const isOurs = computed(() => place.value.view === "transcript" && sample.value !== null && !isNative.value);

/** A count of wishes, so that the field is gone to again although it is open. */
export const asked = signal(0);

export function openFind(): void {
  if (sample.peek() === null || place.peek().view !== "transcript") return;
  isFinding.value = true;
  asked.value += 1;
}

export function closeFind(): void {
  batch(() => {
    isFinding.value = false;
    result.value = null;
    finding.value = null;
    target.value = null;
  });
}

/** Go on by so many places; past the last comes the first. */
export function step(by: number): void {
  const spans = result.peek()?.spans ?? [];
  if (spans.length === 0) return;
  at.value = (at.peek() + by + spans.length) % spans.length;
  const span = spans[at.peek()];
  if (span !== undefined) void goTo(span);
}

export function startFind(): void {
  let round = 0;
  effect(() => {
    const text = wanted.value;
    const cased = isCased.value;
    const of = sample.value;
    const after = promptAfter.value;
    round += 1;
    const own = round;
    if (!isFinding.value || of === null || text === "") {
      result.value = null;
      finding.value = null;
      return;
    }
    setTimeout(() => void look(() => own === round, of, text, cased, after), PAUSE_MS);
  });
}

async function look(isWanted: () => boolean, of: { run: string; id: string }, text: string, cased: boolean, after: string): Promise<void> {
  if (!isWanted()) return;
  try {
    const reply = await findIn(of.run, of.id, text, cased, after || undefined);
    if (!isWanted()) return;
    batch(() => {
      findError.value = null;
      result.value = reply;
      finding.value = { spans: reply.spans };
      at.value = 0;
    });
    step(0);
  } catch (error) {
    if (isWanted()) findError.value = asApiError(error).message;
  }
}
