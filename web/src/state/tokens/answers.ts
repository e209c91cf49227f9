/**
 * Answers about subjects: requested when the reader pauses, one at a time for each subject, and kept while needed. A
 * request that nobody needs any more is cancelled.
 */

import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals";
import type { ApiError } from "../../api";
import { asApiError } from "../browser/login";
import { Store } from "../store";

export interface Asked<T> {
  /** The subject of the answer. While a new answer is loading, the last one about the same subject stays. */
  subject: string;
  /** The subject with all that the answer depends on. */
  key: string;
  ask: (signal: AbortSignal) => Promise<T>;
}

interface Busy {
  key: string;
  end: AbortController;
}

interface Loaded<T> {
  subject: string;
  key: string;
  found: T | null;
  error: ApiError | null;
}

/** The next request about the same subject waits until the reader pauses. */
const PAUSE_MS = 150;

export abstract class AnswersStore<T> extends Store {
  protected abstract readonly asked: ReadonlySignal<readonly Asked<T>[]>;

  readonly #loaded = signal<readonly Loaded<T>[]>([]);

  /** Open requests, by subject. */
  readonly #busy = new Map<string, Busy>();

  readonly #current = computed(() =>
    this.asked.value.map(({ subject }) => this.#loaded.value.find((one) => one.subject === subject) ?? null),
  );

  /** The answer about each subject; null without one. */
  readonly now = computed<readonly (T | null)[]>(() => this.#current.value.map((one) => one?.found ?? null));

  readonly error = computed(() => this.#current.value.find((one) => one !== null && one.error !== null)?.error ?? null);

  /** Ask again, after an error. */
  readonly again = (): void => {
    this.#loaded.value = [];
  };

  start(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.effect(() => {
      const [known, asked] = [this.#loaded.value, this.asked.value];
      clearTimeout(timer);
      for (const subject of this.#busy.keys()) if (!asked.some((one) => one.subject === subject)) this.#end(subject);
      const due = asked.filter(
        ({ subject, key }) => this.#busy.get(subject)?.key !== key && !known.some((one) => one.key === key),
      );
      if (due.length === 0) return;
      const isAgain = due.every(({ subject }) => known.some((one) => one.subject === subject));
      timer = setTimeout(() => untracked(() => due.forEach((one) => void this.#load(one))), isAgain ? PAUSE_MS : 0);
    });
  }

  #end(subject: string): void {
    this.#busy.get(subject)?.end.abort();
    this.#busy.delete(subject);
  }

  async #load({ subject, key, ask }: Asked<T>): Promise<void> {
    this.#end(subject);
    const end = new AbortController();
    this.#busy.set(subject, { key, end });
    let loaded: Loaded<T>;
    try {
      loaded = { subject, key, found: await ask(end.signal), error: null };
    } catch (error) {
      loaded = { subject, key, found: null, error: asApiError(error) };
    }
    if (end.signal.aborted) return;
    this.#busy.delete(subject);
    const wanted = new Set(this.asked.peek().map((one) => one.subject));
    const others = this.#loaded.peek().filter((one) => one.subject !== subject && wanted.has(one.subject));
    this.#loaded.value = [...others, loaded];
  }
}
