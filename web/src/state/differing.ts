/** The words in which a sample and its reference differ: set by the transcript, drawn where the words stand. */

import { signal } from "@preact/signals";
import type { Span } from "../api/types.gen";
import { sample } from "./sample";

/** By the name of the part: what the other side has not. Of the sample alone that is on the screen. */
export const differing = signal<{ run: string; id: string; spans: ReadonlyMap<string, readonly Span[]> } | null>(null);

const NONE: readonly Span[] = [];

/** The words of a part that the other side has not. */
export function differencesOf(at: string): readonly Span[] {
  const held = differing.value;
  const isHere = held !== null && held.id === sample.value?.id && held.run === sample.value.run;
  return isHere ? (held.spans.get(at) ?? NONE) : NONE;
}

/** Parts of the reference are named so (`ref0.1`). */
export const OF_REFERENCE = "ref";
