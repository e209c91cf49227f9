/** The judging of samples one after another: the queue, and its check of the reward, which is hidden meanwhile. */

import { computed, signal, untracked } from "@preact/signals";
import { askJudgingQueue } from "../api/routes.gen";
import type { JudgingQuery, StateItem } from "../api/types.gen";
import { scopeOf } from "../lib/address/address";
import type { Scope } from "../lib/list/scope";
import { ownerOf } from "../lib/marks";
import { asApiError } from "./browser/login";
import { changeSample, items, owners } from "./marks";
import { Store } from "./store";
import { mayWrite, shared, user } from "./team/people";

export type Order = NonNullable<JudgingQuery["order"]>;
export type Judgement = "good" | "bad" | "";

/** The samples of a check of the reward. */
const CHECKED = 10;
/** A step with fewer samples to judge is too small: the queue then covers all steps. */
const LEAST = 20;
const MOST = 200;
const SEEDS = 2 ** 31;
/** The column of judgements in a filter. */
const COLUMN = /\b(?:my_)?judgement\b/;

export interface Queue {
  run: string;
  split: string;
  /** True for a check: the reward is hidden, and the queue ends after ten samples. */
  isCheck: boolean;
  order: Order;
  ids: readonly string[];
  /** The place of the next sample to judge. */
  at: number;
  /** The samples that were not judged when the queue began. */
  samples: number;
  /** The metric that the reward is compared with; empty for none. */
  against: string;
  /** True if the queue covers all steps, though the list has fewer. */
  isWide: boolean;
}

/** The samples whose agreement with the reward is shown; none: all judged ones. */
export interface Agreed {
  run: string;
  split: string;
  ids: readonly string[];
}

/** The person's judgements of samples of a run. */
export function judgementsOf(run: string): readonly StateItem[] {
  const owner = ownerOf(owners.value, run);
  if (owner === "") return [];
  return [...items.value.values(), ...shared.value.values()].filter(
    (item) => item.owner === owner && item.by === user.value && (item.sample_mark?.judgement ?? "") !== "",
  );
}

/** The judged samples of a queue's steps, counted; 0 if a filter or a range of steps narrows it: names tell neither. */
export function judgedIn({ run, split, isWide }: Queue, scope: Scope | null): number {
  const { step: one = null, low = null, high = null, where = "", discarded = false } = scope ?? {};
  if (where.trim() !== "" || discarded || (!isWide && (low !== null || high !== null))) return 0;
  const step = isWide ? null : one;
  return judgementsOf(run).filter(({ name }) => {
    const at = scopeOf(name);
    return at?.split === split && (step === null || at.step === step);
  }).length;
}

export class JudgingStore extends Store {
  readonly queue = signal<Queue | null>(null);
  readonly agreed = signal<Agreed | null>(null);
  readonly isLoading = signal(false);
  /** Why there is no queue; empty for no reason. */
  readonly error = signal("");

  /** True while nothing may tell the reward. */
  readonly isBlind = computed(() => this.queue.value?.isCheck === true);

  #written: Promise<unknown> = Promise.resolve();

  readonly #judged = computed(() =>
    judgementsOf(this.session.place.field.run.value ?? "")
      .map(({ name, version }) => `${name} ${version}`)
      .join(),
  );

  /** Leaving the run ends the judging. A list whose filter or order names judgements follows them. */
  start(): void {
    let before = this.#judged.peek();
    this.effect(() => {
      const of = this.session.list.scope.peek();
      const isNamed = of !== null && COLUMN.test(`${of.where} ${of.sort}`);
      if (this.#judged.value !== before && isNamed) untracked(() => void this.session.list.reload());
      before = this.#judged.value;
    });
    this.effect(() => {
      const run = this.session.place.field.run.value;
      const of = untracked(() => this.queue.value);
      if (of !== null && of.run !== run) this.queue.value = null;
    });
  }

  /** Judge the samples of the list, in an order; or ten at random, to check the reward. */
  async begin(order: Order = "random", isCheck = false): Promise<void> {
    const { run, split } = this.session.place.now.peek();
    if (run === null || split === null || !mayWrite.peek() || this.isLoading.peek()) return;
    this.isLoading.value = true;
    this.error.value = "";
    try {
      await this.#written;
      const queue = await this.#asked(run, split, order, isCheck);
      if (this.session.place.now.peek().run !== run) return;
      if (queue.ids.length === 0) this.error.value = "No sample is left to judge here.";
      this.queue.value = { ...queue, isCheck: isCheck && queue.ids.length > 0 };
      this.#open();
    } catch (error) {
      this.error.value = asApiError(error).message; // the bar says it
      this.queue.value ??= {
        run,
        split,
        isCheck: false,
        order,
        ids: [],
        at: 0,
        samples: 0,
        against: "",
        isWide: false,
      };
    } finally {
      this.isLoading.value = false;
    }
  }

  async #asked(run: string, split: string, order: Order, isCheck: boolean): Promise<Queue> {
    const scope = this.session.list.scope.peek();
    const asked = {
      split,
      order,
      seed: Math.floor(Math.random() * SEEDS),
      limit: isCheck ? CHECKED : MOST,
      where: scope?.where ?? "",
      discarded: scope?.discarded ?? false,
    };
    const steps = {
      step: scope?.step ?? undefined,
      step_min: scope?.low ?? undefined,
      step_max: scope?.high ?? undefined,
    };
    const of = await askJudgingQueue(run, { ...asked, ...steps });
    const isWide = scope?.step !== null && of.samples < (isCheck ? CHECKED : LEAST);
    const { ids, samples, against } = isWide ? await askJudgingQueue(run, asked) : of;
    return { run, split, isCheck, order, ids, at: 0, samples, against, isWide };
  }

  /** Open the next sample to judge. */
  #open(): void {
    const queue = this.queue.peek();
    const sample = queue?.ids[queue.at];
    if (queue === null || sample === undefined) return;
    const isHere = this.session.place.now.peek().sample === sample;
    this.session.view.isWide.value = false; // a table would cover the sample
    const view = queue.isCheck ? { view: "transcript" as const } : {};
    this.session.place.go({ page: "rollouts", list: false, sample, ...view }, isHere ? "replace" : "push");
    const next = queue.ids[queue.at + 1];
    if (next !== undefined) void this.session.sample.prefetch(queue.run, next).catch(() => undefined);
  }

  /** Judge the open sample, and open the next one of the queue. */
  judge(judgement: Judgement): boolean {
    const { run, sample } = this.session.place.now.peek();
    if (run === null || sample === null || !this.session.sample.isShown.peek() || !mayWrite.peek()) return false;
    this.#written = Promise.all([this.#written, changeSample(run, sample, { judgement })]);
    const queue = this.queue.peek();
    if (queue !== null) this.#goTo(queue.ids[queue.at] === sample ? queue.at + 1 : queue.at);
    return true;
  }

  /** Go to the sample before or after in the queue. */
  goBy(by: number): void {
    const queue = this.queue.peek();
    if (queue !== null && queue.at + by >= 0 && queue.at + by < queue.ids.length) this.#goTo(queue.at + by);
  }

  #goTo(at: number): void {
    const queue = this.queue.peek();
    if (queue === null) return;
    if (at < queue.ids.length) {
      this.queue.value = { ...queue, at };
      this.#open();
    } else if (queue.isCheck) void this.#finish(queue);
    else void this.begin(queue.order);
  }

  /** Show how the reward agrees with the judgements of a check. */
  async #finish({ run, split, ids }: Queue): Promise<void> {
    await this.#written;
    this.queue.value = null;
    this.agreed.value = { run, split, ids };
  }

  /** Show how the reward agrees with all judgements of the split. */
  async agree(): Promise<void> {
    const { run, split } = this.session.place.now.peek();
    await this.#written;
    if (run !== null && split !== null) this.agreed.value = { run, split, ids: [] };
  }

  end(): void {
    this.queue.value = null;
    this.error.value = "";
  }
}
