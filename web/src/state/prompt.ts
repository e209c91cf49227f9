/** The life of the prompt of the open sample: the steps where it appears, and the moves from one to another. */

import { computed, signal, untracked } from "@preact/signals";
import { askPrompt } from "../api";
import type { PromptLife, PromptStep, SampleReply } from "../api/types.gen";
import { type Place, scopeOf } from "../lib/address/address";
import { Store } from "./store";

/** Which sample of each step is shown: the one at the same place among those of the prompt, the best or the worst. */
export type Pick = "place" | "best" | "worst";

const NONE: readonly PromptStep[] = [];

export class PromptStore extends Store {
  readonly #life = signal<PromptLife | null>(null);

  readonly pick = signal<Pick>("place");

  /** True if the prompt of the sample on the screen is known to appear again, as long as that sample is shown. */
  readonly appearsAgain = signal(false);

  /** The sample that was reached along the steps of its prompt, and its place among those of its step. */
  readonly #along = signal<{ id: string; place: number } | null>(null);

  /** The life of the prompt of the sample on the screen; null until it is known. */
  readonly life = computed<PromptLife | null>(() => {
    const reply = this.session.sample.now.value;
    const life = this.#life.value;
    return reply !== null && life?.run === reply.run && life.prompt === reply.prompt_id ? life : null;
  });

  /** The steps of the split of the sample; those of all splits if its own has only one. */
  readonly steps = computed<readonly PromptStep[]>(() => {
    const all = this.life.value?.steps ?? NONE;
    const own = all.filter(({ split }) => split === this.session.sample.now.value?.split);
    return own.length > 1 ? own : all;
  });

  /** The place of the current step; -1 for none. */
  readonly at = computed(() => {
    const scope = scopeOf(this.session.place.now.value.sample ?? "");
    return this.steps.value.findIndex(({ split, step }) => split === scope?.split && step === scope.step);
  });

  /** The place of the current sample among those of its step. */
  readonly #place = computed(() => {
    const { sample } = this.session.place.now.value;
    const along = this.#along.value;
    if (along !== null && along.id === sample) return along.place;
    return Math.max(0, this.steps.value[this.at.value]?.ids.indexOf(sample ?? "") ?? 0);
  });

  /** True if the current sample was reached along the steps. */
  readonly isAlong = computed(() => this.#along.value?.id === this.session.place.now.value.sample);

  /** The answer of the step before, if the sample was reached along the steps: words that it lacks are marked. */
  readonly before = computed<{ id: string; step: number } | null>(() => {
    const step = this.steps.value[this.at.value - 1];
    if (step === undefined || !this.isAlong.value) return null;
    return { id: this.#sampleOf(step), step: step.step };
  });

  #sampleOf({ best, worst, ids }: PromptStep): string {
    const pick = { best, worst, place: "" }[this.pick.value];
    return pick || (ids[Math.min(this.#place.value, ids.length - 1)] ?? "");
  }

  /** Go to the sample of another step, by its place among the steps. */
  go(to: number, how: "push" | "late" = "push"): void {
    const steps = this.steps.peek();
    const step = steps[Math.max(0, Math.min(to, steps.length - 1))];
    if (step !== undefined) untracked(() => this.#show(step, how));
  }

  /** Go to the previous or the next step of the prompt. */
  goBy(by: number): void {
    if (this.at.peek() >= 0) this.go(this.at.peek() + by);
  }

  /** Choose which sample of each step is shown, and show that of the current one. */
  choose(pick: Pick): void {
    this.pick.value = pick;
    this.go(this.at.peek());
  }

  #show(step: PromptStep, how: "push" | "late"): void {
    const id = this.#sampleOf(step);
    this.#along.value = { id, place: this.#place.value };
    if (id !== this.session.place.now.value.sample) this.session.place.go(this.#placeOf(step, id), how);
  }

  #placeOf({ split, step, discarded, samples }: PromptStep, id: string): Partial<Place> {
    const { against, view, isDiff } = this.session.place.now.peek();
    return {
      page: "rollouts",
      split,
      step,
      sample: id,
      discarded: discarded === samples,
      list: false,
      ...(view === "group" && isDiff && against !== null ? { against } : {}),
    };
  }

  /** The best answer of the last step beside that of the first, with their differences; null without two steps. */
  readonly thenAndNow = computed<Partial<Place> | null>(() => {
    const steps = this.steps.value;
    const [first] = steps;
    const last = steps.at(-1);
    if (first === undefined || last === undefined || first === last) return null;
    return {
      ...this.#placeOf(last, last.best || (last.ids[0] ?? "")),
      view: "group",
      isTable: false,
      isDiff: true,
      against: first.best || (first.ids[0] ?? ""),
    };
  });

  /** True while they are shown. */
  readonly isThenAndNow = computed(() => {
    const { view, isDiff, against } = this.session.place.now.value;
    return view === "group" && isDiff && against === this.thenAndNow.value?.against;
  });

  /** Show the best answers of both ends, or the sample alone if they are shown. */
  toggleThenAndNow(): void {
    const to = this.thenAndNow.peek();
    if (to === null) return;
    const isShown = this.isThenAndNow.peek();
    if (!isShown) this.pick.value = "best"; // the steps between are compared by their best answers, too
    this.session.place.go(isShown ? { view: "transcript", isDiff: false, against: null } : to);
  }

  /** Open the last step of a prompt. */
  async open(run: string, split: string, prompt: string): Promise<void> {
    const life = await askPrompt(run, { prompt });
    const step = life.steps.findLast((one) => one.split === split);
    if (step === undefined || this.session.place.now.peek().run !== run) return;
    this.#life.value = life;
    this.#asked = `${run}\n${prompt}`;
    this.#newest = null;
    this.session.place.go({ ...this.#placeOf(step, step.best || (step.ids[0] ?? "")), view: "transcript" });
  }

  /** The life of the prompt of a sample that is about to be shown. */
  #ahead: PromptLife | null = null;

  /** Load the life of the prompt of a sample that is about to be shown. */
  async prepare({ run, prompt_id: prompt, prompt_steps: steps }: SampleReply): Promise<void> {
    if (prompt !== "" && steps !== 1) this.#ahead = await askPrompt(run, { prompt });
  }

  /** The prompt of the last request. */
  #asked = "";
  /** The newest step at that time; null if it was not known. */
  #newest: number | null = null;

  start(): void {
    this.effect(() => {
      const reply = this.session.sample.now.value;
      const newest = this.session.steps.last.value;
      untracked(() => {
        if (reply === null) return;
        if (this.#ahead?.run === reply.run && this.#ahead.prompt === reply.prompt_id) {
          this.#life.value = this.#ahead;
          this.#asked = `${reply.run}\n${reply.prompt_id}`;
          this.#newest = newest;
          this.#ahead = null;
        }
        const steps = reply.prompt_steps ?? this.life.peek()?.steps.length ?? 0;
        this.appearsAgain.value = steps > 1;
        if (reply.prompt_id === "" || reply.prompt_steps === 1) return;
        const asked = `${reply.run}\n${reply.prompt_id}`;
        const isSame = asked === this.#asked;
        const isLater = newest !== null && this.#newest !== null && newest !== this.#newest;
        this.#newest = isSame ? (newest ?? this.#newest) : newest;
        if (isSame && !isLater) return;
        this.#asked = asked;
        void this.#load(reply.run, reply.prompt_id, asked);
      });
    });
  }

  async #load(run: string, prompt: string, asked: string): Promise<void> {
    try {
      const life = await askPrompt(run, { prompt });
      if (asked === this.#asked) this.#life.value = life;
    } catch {
      if (asked === this.#asked) this.#asked = ""; // the sample is there without it; the next one asks again
    }
  }
}
