/** Texts of the sample that load block by block: its record, and the whole sample as one text. */

import { signal, untracked } from "@preact/signals";
import { type ApiError, getRaw, getText } from "../../api";
import type { RawReply, TextReply } from "../../api/types.gen";
import { asApiError } from "../browser/login";
import { Store } from "../store";

export interface Block<T> {
  reply: T | null;
  error: ApiError | null;
}

interface Held<T> extends Block<T> {
  /** Ids repeat across runs. */
  key: string;
}

const NOTHING = { reply: null, error: null };

export class BlocksStore extends Store {
  readonly #record = signal<Held<RawReply> | null>(null);

  readonly #whole = signal<Held<TextReply> | null>(null);

  #keyNow(): string {
    const { run, sample } = this.session.place.now.value;
    return `${run ?? ""}\n${sample ?? ""}`;
  }

  /** The current block of the record, or the error in its place. */
  raw(): Block<RawReply> {
    return this.#record.value?.key === this.#keyNow() ? this.#record.value : NOTHING;
  }

  /** The same for the sample as one text. */
  text(): Block<TextReply> {
    return this.#whole.value?.key === this.#keyNow() ? this.#whole.value : NOTHING;
  }

  readonly loadRaw = (start: number): Promise<void> => this.#load(this.#record, getRaw, start);

  readonly loadText = (start: number): Promise<void> => this.#load(this.#whole, getText, start);

  forget(): void {
    this.#record.value = null;
    this.#whole.value = null;
  }

  /** Load the current text again, from its start. */
  async refresh(): Promise<void> {
    this.forget();
    await this.#wanted(this.session.place.now.peek().view);
  }

  start(): void {
    this.effect(() => {
      const { view, sample } = this.session.place.now.value;
      if (sample !== null) untracked(() => void this.#wanted(view));
    });
  }

  async #wanted(view: string): Promise<void> {
    if (view === "raw" && this.raw().reply === null) await this.loadRaw(0);
    if (view === "text" && this.text().reply === null) await this.loadText(0);
  }

  async #load<T>(
    into: { value: Held<T> | null },
    ask: (run: string, id: string, start: number) => Promise<T>,
    start: number,
  ): Promise<void> {
    const { run, sample } = this.session.place.now.peek();
    if (run === null || sample === null) return;
    const key = `${run}\n${sample}`;
    try {
      into.value = { key, reply: await ask(run, sample, start), error: null };
    } catch (error) {
      into.value = { key, reply: null, error: asApiError(error) };
    }
  }
}
