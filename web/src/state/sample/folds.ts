/** Folds or unfolds all sections of a sample at once. */

import { computed, signal } from "@preact/signals";
import { Store } from "../store";

export class FoldsStore extends Store {
  /** The last command to all sections; `round` 0 means none, so each section has its default. */
  readonly command = signal({ round: 0, isOpen: true });

  /** The next effect of `turnFolds`: expand all; after that, collapse all. */
  readonly willExpand = computed(() => this.command.value.round === 0 || !this.command.value.isOpen);

  readonly turn = (): void => {
    this.command.value = { round: this.command.peek().round + 1, isOpen: this.willExpand.peek() };
  };

  /** Another sample begins with the defaults. */
  start(): void {
    let shown = "";
    this.effect(() => {
      const now =
        this.session.sample.now.value === null
          ? ""
          : `${this.session.sample.now.value.run}\n${this.session.sample.now.value.id}`;
      if (now === shown) return; // the same sample, loaded again: sections that the reader opened stay open
      shown = now;
      this.command.value = { round: 0, isOpen: true };
      this.session.highlights.target.value = null;
    });
  }
}
