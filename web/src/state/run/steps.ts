/** The steps of the current split, with counts and mean rewards; kept up to date. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getSteps } from "../../api";
import type { RunItem, StepsReply } from "../../api/types.gen";
import { Lru } from "../../lib/data/lru";
import { nearest } from "../../lib/numbers/nearest";
import { asApiError } from "../browser/login";
import { isVisible } from "../browser/visibility";
import { Store } from "../store";

const AGAIN_MS = 50;

/** After a failure the same request waits: longer each time. */
const PAUSES_MS = [1000, 2000, 5000, 15_000, 30_000];

let waiting: ReturnType<typeof setTimeout> | undefined;

export class StepsStore extends Store {
  #failures = 0;

  /** The step to go to once the steps of a split are known. */
  #wanted: { run: string; split: string | null; step: number; how: "push" | "replace" } | null = null;

  readonly #replies = new Lru<StepsReply>(32);

  readonly #loaded = signal<StepsReply | null>(null);

  /** The steps of this split only, even while they are loading. */
  readonly reply = computed<StepsReply | null>(() => {
    const { run: id, split } = this.session.place.now.value;
    return this.#loaded.value?.run === id && this.#loaded.value?.split === split ? this.#loaded.value : null;
  });

  readonly error = signal<ApiError | null>(null);

  /** The index of the current step; -1 if it is missing. */
  readonly index = computed(() => {
    const { step } = this.session.place.now.value;
    return step === null ? -1 : (this.reply.value?.steps.indexOf(step) ?? -1);
  });

  readonly last = computed(() => this.reply.value?.steps.at(-1) ?? null);

  /** The newest step with discarded samples. */
  readonly lastDiscarded = computed(
    () => this.reply.value?.steps.findLast((_, at) => (this.reply.value?.discarded[at] ?? 0) > 0) ?? null,
  );

  /** Move by some steps, at most to the first or last step. */
  goBy(difference: number): void {
    const steps = this.reply.peek()?.steps ?? [];
    const { step } = this.session.place.now.peek();
    if (steps.length === 0 || step === null) return;
    const here = this.index.peek();
    const from = here >= 0 ? here : nearest(steps, step);
    const to = steps[Math.min(steps.length - 1, Math.max(0, from + difference))];
    if (to !== undefined && to !== step) this.session.place.go({ step: to });
  }

  /** Go to the step nearest to a number, as soon as the steps are known. */
  goNear(wanted: number, how: "push" | "replace" = "push"): void {
    const { run, split, step } = this.session.place.now.peek();
    const reply = this.reply.peek();
    this.#wanted = reply === null && run !== null ? { run, split, step: wanted, how } : null;
    const to = reply?.steps[nearest(reply.steps, wanted)];
    if (to !== undefined && to !== step) this.session.place.go({ step: to }, how);
  }

  forget(): void {
    this.#replies.clear();
  }

  start(): void {
    this.effect(() => {
      const reply = this.reply.value;
      const wanted = this.#wanted;
      if (reply === null || wanted === null) return;
      this.#wanted = null;
      if (wanted.run === reply.run && wanted.split === reply.split)
        untracked(() => this.goNear(wanted.step, wanted.how));
    });
    this.effect(() => {
      const item = this.session.run.now.value;
      const { split } = this.session.place.now.value;
      if (!isVisible.value) return;
      untracked(() => {
        if (waiting === undefined || this.reply.peek()?.run !== item?.id) void this.#refresh(item, split);
      });
    });
  }

  async #refresh(item: RunItem | null, split: string | null): Promise<void> {
    if (item === null || split === null) return;
    const key = `${item.id}\n${split}`;
    const isLookedAt = (): boolean =>
      this.session.place.now.peek().run === item.id && this.session.place.now.peek().split === split;
    if (this.reply.peek() === null) this.#loaded.value = this.#replies.peek(key) ?? null;
    if (this.reply.peek()?.version === item.version) return;
    try {
      const reply = await this.#replies.renew(key, () => getSteps(item.id, split));
      if (!isLookedAt()) return;
      this.#failures = 0;
      this.error.value = null;
      this.#loaded.value = reply;
      // Load again if the run changed during the request; a reply may be newer than the page's state.
      if (this.session.run.now.peek()?.version !== item.version) setTimeout(this.#again, AGAIN_MS);
    } catch (error) {
      if (!isLookedAt()) return;
      const why = asApiError(error);
      this.error.value = why;
      if (why.status === 404) {
        // The split is gone. If its name returns, the steps are new, and no move waits for them.
        this.#replies.drop(key);
        this.#loaded.value = null;
      }
      clearTimeout(waiting);
      waiting = setTimeout(this.#again, PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)]);
      this.#failures += 1;
    }
  }

  readonly #again = (): void => {
    waiting = undefined;
    void this.#refresh(this.session.run.now.peek(), this.session.place.now.peek().split);
  };
}
