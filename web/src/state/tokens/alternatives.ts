/** The alternatives of the current token: what the model could have sampled, if the record has it. */

import { computed, signal } from "@preact/signals";
import { type ApiError, getTopLogprobs } from "../../api";
import type { Alternative } from "../../api/types.gen";
import { asApiError } from "../browser/login";
import { promptAfter } from "../browser/textOptions";
import { Store } from "../store";

/** The delay before a request, so that a moving pointer requests nothing. */
const REST_MS = 60;

interface Wanted {
  run: string;
  id: string;
  token: number;
  after: string;
}

interface Loaded {
  wanted: Wanted;
  alternatives: readonly Alternative[];
  error: ApiError | null;
}

export class TokenAlternativesStore extends Store {
  readonly #loaded = signal<Loaded | null>(null);

  readonly #wanted = computed<Wanted | null>(() => {
    const { sample, tokens, tokenLook: look } = this.session;
    const [reply, token] = [sample.now.value, look.current.value?.token ?? null];
    if (tokens.now.value?.hasAlternatives !== true || reply === null || token === null) return null;
    return { run: reply.run, id: reply.id, token, after: promptAfter.value };
  });

  readonly #current = computed(() => (this.#loaded.value?.wanted === this.#wanted.value ? this.#loaded.value : null));

  /** The alternatives of the current token, the likeliest first; none until they are there. */
  readonly now = computed(() => this.#current.value?.alternatives ?? []);

  readonly error = computed(() => this.#current.value?.error ?? null);

  #timer = 0;

  start(): void {
    this.effect(() => {
      const wanted = this.#wanted.value;
      window.clearTimeout(this.#timer);
      if (wanted !== null) this.#timer = window.setTimeout(() => void this.#load(wanted), REST_MS);
    });
  }

  async #load(wanted: Wanted): Promise<void> {
    const { run, id, token, after } = wanted;
    try {
      const { alternatives } = await getTopLogprobs(run, id, token, after || undefined);
      if (this.#wanted.peek() === wanted) this.#loaded.value = { wanted, alternatives, error: null };
    } catch (error) {
      if (this.#wanted.peek() === wanted) this.#loaded.value = { wanted, alternatives: [], error: asApiError(error) };
    }
  }
}
