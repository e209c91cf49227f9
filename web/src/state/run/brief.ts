/** The brief of the run, in at most three sentences, once all of it is indexed. */

import { signal, untracked } from "@preact/signals";
import { askBrief } from "../../api/routes.gen";
import type { Brief } from "../../api/types.gen";
import { Store } from "../store";

/** The list and the sample come first. */
const AFTER_MS = 600;
/** The least time between two requests for a run that grows. */
const AGAIN_MS = 20_000;

export class BriefStore extends Store {
  /** The brief of the run, once it is known. */
  readonly now = signal<Brief | null>(null);

  /** Why there is no brief; empty without an error. */
  readonly error = signal("");

  /** The run of the last request, and its newest step then. */
  #asked = "";
  #timer = 0;

  /** Request the brief of each run, and again when it has grown. */
  start(): void {
    this.session.effect(() => {
      const item = this.session.run.now.value;
      if (item === null || item.progress.phase !== "ready" || item.splits.length === 0) return;
      const newest = item.splits.map(({ name, last_step: step }) => `${name} ${step}`).join(", ");
      untracked(() => this.#ask(item.id, `${item.id}\n${newest}`));
    });
  }

  #ask(run: string, asked: string): void {
    if (this.#asked === asked) return;
    const isSame = this.now.peek()?.run === run;
    if (!isSame) this.now.value = null;
    this.#asked = asked;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#load(run), isSame ? AGAIN_MS : AFTER_MS);
  }

  async #load(run: string): Promise<void> {
    if (this.session.run.now.peek()?.id !== run) return;
    try {
      this.now.value = await askBrief(run);
      this.error.value = "";
    } catch (error) {
      this.error.value = error instanceof Error ? error.message : String(error);
    }
  }
}
