/** Find within the sample: the server returns the places of a text, and this store moves between them. */

import { batch, computed, signal } from "@preact/signals";
import { findIn } from "../../api";
import type { FindReply } from "../../api/types.gen";
import { promptAfter } from "../browser/textOptions";
import { asApiError } from "../browser/login";
import { Store } from "../store";

const PAUSE_MS = 150;

export class FindStore extends Store {
  readonly isFinding = signal(false);

  readonly wanted = signal("");

  readonly isCased = signal(false);

  readonly error = signal<string | null>(null);

  readonly #result = signal<FindReply | null>(null);

  readonly #at = signal(0);

  /** `3 of 1,204`: the current place, from 1, and the number of places; null while unknown. */
  readonly standing = computed(() =>
    this.#result.value === null
      ? null
      : {
          at: this.#result.value.spans.length === 0 ? 0 : this.#at.value + 1,
          total: this.#result.value.total,
          visitable: this.#result.value.spans.length,
        },
  );

  /** True if it replaces the browser's find, which sees only a part of such a sample. */
  readonly isOurs = computed(
    () =>
      this.session.place.now.value.view === "transcript" &&
      this.session.sample.now.value !== null &&
      !this.session.sample.isNative.value,
  );

  /** Counts requests, so that an open field gets the focus again. */
  readonly requests = signal(0);

  readonly open = (): void => {
    if (this.session.sample.now.peek() === null || this.session.place.now.peek().view !== "transcript") return;
    this.isFinding.value = true;
    this.requests.value += 1;
  };

  readonly close = (): void => {
    batch(() => {
      this.isFinding.value = false;
      this.#result.value = null;
      this.session.highlights.finding.value = null;
      this.session.highlights.target.value = null;
    });
  };

  /** Move on by some places; the first follows the last. */
  step(by: number): void {
    const spans = this.#result.peek()?.spans ?? [];
    if (spans.length === 0) return;
    this.#at.value = (this.#at.peek() + by + spans.length) % spans.length;
    const span = spans[this.#at.peek()];
    if (span !== undefined) void this.session.highlights.goTo(span);
  }

  start(): void {
    let round = 0;
    this.effect(() => {
      const text = this.wanted.value;
      const cased = this.isCased.value;
      const of = this.session.sample.now.value;
      const after = promptAfter.value;
      round += 1;
      const thisRound = round;
      if (!this.isFinding.value || of === null || text === "") {
        this.#result.value = null;
        this.session.highlights.finding.value = null;
        return;
      }
      setTimeout(() => void this.#look(() => thisRound === round, of, text, cased, after), PAUSE_MS);
    });
  }

  async #look(
    isWanted: () => boolean,
    of: { run: string; id: string },
    text: string,
    cased: boolean,
    after: string,
  ): Promise<void> {
    if (!isWanted()) return;
    try {
      const reply = await findIn(of.run, of.id, text, cased, after || undefined);
      if (!isWanted()) return;
      batch(() => {
        this.error.value = null;
        this.#result.value = reply;
        this.session.highlights.finding.value = { spans: reply.spans };
        this.#at.value = 0;
      });
      this.step(0);
    } catch (error) {
      if (isWanted()) this.error.value = asApiError(error).message;
    }
  }
}
