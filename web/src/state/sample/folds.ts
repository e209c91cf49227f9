/** Folding all sections of a sample at once. */

import { computed, signal } from "@preact/signals";
import { Store } from "../store";

export class FoldsStore extends Store {
  /** The last word to all sections; `round` 0: none was given, each is as it usually is. */
  readonly command = signal({ round: 0, isOpen: true });

  /** What `turnFolds` will do: expand all; where that was said last, collapse all. */
  readonly willExpand = computed(() => this.command.value.round === 0 || !this.command.value.isOpen);

  readonly turn = (): void => {
    this.command.value = { round: this.command.peek().round + 1, isOpen: this.willExpand.peek() };
  };

  /** Another sample begins as it usually is. */
  start(): void {
    let shown = "";
    this.effect(() => {
      const now =
        this.session.sample.now.value === null
          ? ""
          : `${this.session.sample.now.value.run}\n${this.session.sample.now.value.id}`;
      if (now === shown) return; // the same sample, loaded again: what the reader opened stays open
      shown = now;
      this.command.value = { round: 0, isOpen: true };
      this.session.highlights.target.value = null;
    });
  }
}
