/** The words in which a sample and its reference differ: set by the transcript, drawn where the words stand. */

import { signal } from "@preact/signals";
import type { Span } from "../../api/types.gen";
import { Store } from "../store";

const NONE: readonly Span[] = [];

/** Parts of the reference are named so (`ref0.1`). */
export const OF_REFERENCE = "ref";

export class DifferencesStore extends Store {
  /** By the name of the part: what the other side has not. Of the sample alone that is on the screen. */
  readonly now = signal<{ run: string; id: string; spans: ReadonlyMap<string, readonly Span[]> } | null>(null);

  /** The words of a part that the other side has not. */
  ofPart(at: string): readonly Span[] {
    const current = this.now.value;
    const isHere =
      current !== null &&
      current.id === this.session.sample.now.value?.id &&
      current.run === this.session.sample.now.value.run;
    return isHere ? (current.spans.get(at) ?? NONE) : NONE;
  }
}
