/**
 * The words in which a sample differs from its reference, or from another answer to its prompt: the transcript computes
 * them, and texts draw them.
 */

import { signal } from "@preact/signals";
import type { Span } from "../../api/types.gen";
import { Store } from "../store";

const NONE: readonly Span[] = [];

/** The prefix of the names of the reference's parts (`ref0.1`). */
export const OF_REFERENCE = "ref";

export class DifferencesStore extends Store {
  /** By the name of the part: the words that the other side lacks. Only for the sample on the screen. */
  readonly now = signal<{ run: string; id: string; spans: ReadonlyMap<string, readonly Span[]> } | null>(null);

  /** Why nothing is marked; empty if something is, or nothing was compared. */
  readonly refused = signal("");

  /** The words of a part that the other side lacks. */
  ofPart(at: string): readonly Span[] {
    const current = this.now.value;
    const isHere =
      current !== null &&
      current.id === this.session.sample.now.value?.id &&
      current.run === this.session.sample.now.value.run;
    return isHere ? (current.spans.get(at) ?? NONE) : NONE;
  }
}
