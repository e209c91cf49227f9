/**
 * The brief of the run, in at most three sentences: first from its numbers, then once all of it is indexed, and again
 * while it grows.
 */

import { computed, signal, untracked } from "@preact/signals";
import { askBrief } from "../../api/routes.gen";
import type { Brief, RunItem } from "../../api/types.gen";
import { Store } from "../store";

/** The list and the sample come first. */
const AFTER_MS = 600;
/** The least time between an answer and the next request, for a run that grows. */
const AGAIN_MS = 10_000;
/** A slow brief takes at most this share of the server's time. */
const SHARE = 0.1;

const newestOf = (item: RunItem | null, split: string): number | null =>
  item?.splits.find(({ name }) => name === split)?.last_step ?? null;

const isWhole = (item: RunItem): boolean => item.progress.phase === "ready";

const stepsOf = ({ splits }: RunItem): string => splits.map(({ name, last_step: step }) => `${name} ${step}`).join();

export class BriefStore extends Store {
  /** The brief of the run, once it is known. */
  readonly now = signal<Brief | null>(null);

  /** Why there is no brief; empty without an error. */
  readonly error = signal("");

  /** The run as it was when its brief was requested. */
  readonly #known = signal<RunItem | null>(null);

  /** True until the brief of a whole index: sentences about texts, such as what the reward pays for, may be missing. */
  readonly isPartial = signal(true);

  /** The newest step that the brief knows. */
  readonly asOf = computed(() => newestOf(this.#known.value, this.now.value?.split ?? ""));

  /** True if there are newer steps. */
  readonly isOld = computed(
    () => this.asOf.value !== newestOf(this.session.run.now.value, this.now.value?.split ?? ""),
  );

  /** The run as it was at the last request, answered or failed. */
  #asked: RunItem | null = null;

  #run = "";
  #timer = 0;
  /** The runs whose request is not yet answered. */
  readonly #waiting = new Set<string>();
  /** The time before which there is no further request. */
  #notBefore = 0;

  /** Request the brief of each run, and again while it grows. */
  start(): void {
    this.session.effect(() => {
      const item = this.session.run.now.value;
      if (item === null || item.splits.length === 0) return;
      untracked(() => this.#ask(item));
    });
  }

  #ask(item: RunItem): void {
    if (this.#run !== item.id) {
      this.#run = item.id;
      this.#notBefore = 0;
      clearTimeout(this.#timer);
      this.#timer = 0;
      if (this.now.peek()?.run !== item.id) {
        this.now.value = null;
        this.isPartial.value = true;
      }
    }
    if (this.#timer !== 0 || this.#waiting.has(item.id) || !this.#isDue(item)) return;
    const rest = this.isPartial.peek() ? 0 : this.#notBefore - performance.now();
    this.#timer = window.setTimeout(() => void this.#load(item.id), Math.max(AFTER_MS, rest));
  }

  /** True if the numbers of the run, or all of it, are indexed for the first time, or if it has grown since. */
  #isDue(item: RunItem): boolean {
    const asked = this.#asked;
    if (asked?.id !== item.id) return item.progress.phase !== "scalars";
    if (this.isPartial.peek()) return isWhole(item);
    const isPending = (this.now.peek()?.pending ?? 0) > 0;
    return stepsOf(asked) !== stepsOf(item) || (isPending && asked.version !== item.version);
  }

  /** Load the brief and then the findings of the run: both count as time of the server. */
  async #load(run: string): Promise<void> {
    this.#timer = 0;
    const item = this.session.run.now.peek();
    if (item?.id !== run) return;
    this.#waiting.add(run);
    const since = performance.now();
    await this.#answer(item);
    if (this.#run === run && isWhole(item)) this.isPartial.value = false;
    if (this.#run === run && !this.isPartial.peek()) await this.session.findings.load(run, this.now.peek()?.version);
    this.#waiting.delete(run);
    if (this.#run === run) {
      this.#asked = item;
      this.#notBefore = performance.now() + Math.max(AGAIN_MS, (performance.now() - since) / SHARE);
    }
    const newest = this.session.run.now.peek();
    if (newest?.id === run) this.#ask(newest);
  }

  async #answer(item: RunItem): Promise<void> {
    try {
      const answer = await askBrief(item.id);
      if (this.#run !== item.id) return;
      this.#known.value = item;
      this.now.value = answer;
      this.error.value = "";
    } catch (error) {
      if (this.#run === item.id) this.error.value = error instanceof Error ? error.message : String(error);
    }
  }
}
