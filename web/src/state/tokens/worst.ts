/** The worst tokens of the group, the step or the run: those with the most extreme values of the shown series. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getWorstTokens, isAlone, type TokenScope } from "../../api";
import type { WorstTokensReply } from "../../api/types.gen";
import { asApiError } from "../browser/login";
import { Store } from "../store";

export type WorstOf = "sample" | "group" | "step" | "run";

interface Wanted {
  key: string;
  run: string;
  scope: TokenScope;
  series: string;
  side: string;
}

interface Loaded {
  key: string;
  reply: WorstTokensReply | null;
  error: ApiError | null;
}

export class TokenWorstStore extends Store {
  readonly of = signal<WorstOf>("sample");

  readonly #loaded = signal<Loaded | null>(null);

  readonly #wanted = computed<Wanted | null>(() => {
    const [reply, series] = [this.session.sample.now.value, this.session.tokenLook.series.value];
    if (isAlone() || this.of.value === "sample" || !this.session.tokens.isWanted.value) return null;
    if (reply === null || series === null) return null;
    const { run, split, step, group } = reply;
    const of: Record<WorstOf, TokenScope> = {
      sample: {},
      group: { split, step, group },
      step: { split, step },
      run: {},
    };
    const scope = of[this.of.value];
    // A series with two sides is as bad on either; the high one is shown. Of logprobs the lowest are the worst.
    const side = /(^|_)(logprobs|probability)$/.test(series.name) ? "low" : "high";
    return { key: JSON.stringify([run, scope, series.name]), run, scope, series: series.name, side };
  });

  /** The answer; null until it is there, and for the sample itself. */
  readonly now = computed(() => this.#current.value?.reply ?? null);

  readonly error = computed(() => this.#current.value?.error ?? null);

  readonly #current = computed(() => (this.#loaded.value?.key === this.#wanted.value?.key ? this.#loaded.value : null));

  readonly again = (): void => {
    this.#loaded.value = null;
  };

  start(): void {
    this.effect(() => {
      const wanted = this.#wanted.value;
      if (wanted === null || this.#loaded.value?.key === wanted.key) return;
      untracked(() => void this.#load(wanted));
    });
  }

  async #load({ key, run, scope, series, side }: Wanted): Promise<void> {
    try {
      const reply = await getWorstTokens(run, scope, series, side);
      if (this.#wanted.peek()?.key === key) this.#loaded.value = { key, reply, error: null };
    } catch (error) {
      if (this.#wanted.peek()?.key === key) this.#loaded.value = { key, reply: null, error: asApiError(error) };
    }
  }
}
