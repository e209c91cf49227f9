/** The current sample, whole, or the current page of its turns. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getSample, getTurns } from "../../api";
import type { SampleReply, TurnsReply } from "../../api/types.gen";
import { cutsLines } from "../../lib/text/chunks";
import { isSame, weight } from "../../lib/data/same";
import { Lru } from "../../lib/data/lru";
import { promptAfter } from "../browser/textOptions";
import { asApiError } from "../browser/login";
import { Store } from "../store";

interface Loaded {
  reply: SampleReply;
  version: string;
}

/** A sample is painted within this time after it has come. */
const PAINT_MS = 60;
/** The longest time for which charts wait for the first sample. */
const FIRST_MS = 2_000;

/** At most 40 MB of text: with 15 MB for lists and the page itself, a tab stays below 60 MB. */
const LIMIT_CHARS = 20_000_000;

const isOf = (of: { id: string } | null, id: string | null): boolean => of !== null && of.id === id;

const keyOf = (runId: string, id: string): string => `${runId}\n${id}`;

/** A browser handles this much text by itself. */
export const NATIVE_CHARS = 1_000_000;

export type Page = Pick<TurnsReply, "turns" | "turn_from" | "turn_total">;

const pageKey = (reply: SampleReply): string => `${keyOf(reply.run, reply.id)}\n${promptAfter.value}`;

export class SampleStore extends Store {
  readonly #replies = new Lru<Loaded>(
    LIMIT_CHARS,
    ({ reply }) => 2000 + reply.turns.reduce((sum, turn) => sum + turn.chars, weight(reply.extra) + reply.label.length),
  );

  /** The sample last loaded; `isShown` tells whether it is the one of the address. */
  readonly now = signal<SampleReply | null>(null);

  /** The last failure, and its sample. */
  readonly #failure = signal<{ key: string; error: ApiError } | null>(null);

  readonly isShown = computed(
    () =>
      isOf(this.now.value, this.session.place.now.value.sample) &&
      this.now.value?.run === this.session.place.now.value.run,
  );

  /** The reason why the address's sample could not be loaded. It stays until there is a reply. */
  readonly error = computed(() => {
    const { run: runId, sample: id } = this.session.place.now.value;
    return this.#failure.value !== null && this.#failure.value.key === keyOf(runId ?? "", id ?? "")
      ? this.#failure.value.error
      : null;
  });

  /** False until the first sample is painted, or none will come: charts would delay it. */
  readonly isFirstDone = signal(false);

  readonly #isFirstThere = computed(() => {
    if (this.now.value !== null || this.error.value !== null || this.session.list.error.value !== null) return true;
    const run = this.session.run.now.value;
    if (run?.splits.length === 0 && run.progress.phase === "ready") return true;
    return this.session.list.now.value !== null && this.session.place.now.value.sample === null;
  });

  /** A page of turns, for a sample with too many to send at once. */
  readonly #turned = signal<{ key: string; page: TurnsReply } | null>(null);

  readonly pageError = signal<ApiError | null>(null);

  /** The current turns, and their place among all: those that came with the sample, or a page. */
  readonly page = computed<Page | null>(() => (this.now.value === null ? null : this.pageOf(this.now.value)));

  /** The turns shown in the block of a call, by number, with the name of its part: of several calls, the last. */
  readonly answers = computed<ReadonlyMap<number, string>>(() => {
    const { turns, turn_from: from } = this.page.value ?? { turns: [], turn_from: 0 };
    const calls = turns.flatMap(({ parts }, turn) =>
      parts.map(({ result }, place): [number, string] => [result?.turn ?? -1, `${from + turn}.${place}`]),
    );
    return new Map(calls.filter(([turn]) => turn >= from));
  });

  pageOf(reply: SampleReply): Page {
    const current = this.#turned.value;
    return current !== null && current.key === pageKey(reply) ? current.page : reply;
  }

  /**
   * True if the page has the whole sample, including folded sections, and no line is in two boxes, so that the
   * browser's own find can find everything.
   */
  readonly isNative = computed(
    () =>
      this.now.value !== null &&
      this.now.value.chars <= NATIVE_CHARS &&
      this.now.value.turn_total <= this.now.value.turns.length &&
      !this.now.value.turns.some(({ parts }) => parts.some(({ text }) => cutsLines(text))),
  );

  #turnings = 0;

  /** Go to a page of turns that begins or ends at a turn. The last request counts. */
  async goTurns(at: { from?: number; until?: number }): Promise<void> {
    const reply = this.now.peek();
    if (reply === null) return;
    const key = untracked(() => pageKey(reply));
    this.#turnings += 1;
    const thisRound = this.#turnings;
    const isWanted = (): boolean =>
      thisRound === this.#turnings && this.now.peek()?.id === reply.id && this.now.peek()?.run === reply.run;
    this.pageError.value = null;
    try {
      const page = await getTurns(reply.run, reply.id, at, promptAfter.peek() || undefined);
      if (isWanted()) this.#turned.value = { key, page };
    } catch (error) {
      if (isWanted()) this.pageError.value = asApiError(error);
    }
  }

  /** Load a sample ahead. */
  async prefetch(runId: string, id: string): Promise<void> {
    await this.reply(runId, id);
  }

  /** Return a sample, loaded now if it is not in memory. */
  async reply(runId: string, id: string): Promise<SampleReply> {
    return (await this.#replies.get(keyOf(runId, id), () => this.#fetched(runId, id))).reply;
  }

  forget(): void {
    this.#replies.clear();
    this.#turned.value = null;
    this.session.blocks.forget();
  }

  /** Load the sample again: its place in its group may have changed, or the last attempt failed. */
  async refresh(): Promise<void> {
    const { run: runId, sample: id } = this.session.place.now.peek();
    this.#turned.value = null;
    if (runId === null || id === null) return;
    await this.#show(runId, id, true);
    await this.session.blocks.refresh();
  }

  /** True if the shown sample is unchanged since it was loaded. */
  async isSame(): Promise<boolean> {
    const shown = this.now.peek();
    if (shown === null) return true;
    const { reply } = await this.#fetched(shown.run, shown.id);
    return this.now.peek() !== shown || isSame(reply, shown);
  }

  start(): void {
    let lastAfter = promptAfter.peek();
    this.effect(() => {
      const { run: runId, sample: id } = this.session.place.now.value;
      if (promptAfter.value !== lastAfter) {
        lastAfter = promptAfter.value; // loaded samples are divided differently
        this.#replies.clear();
      }
      untracked(() => runId !== null && id !== null && void this.#show(runId, id, false));
    });
    this.effect(() => {
      if (this.#isFirstThere.value) setTimeout(() => (this.isFirstDone.value ||= this.#isFirstThere.peek()), PAINT_MS);
    });
    setTimeout(() => (this.isFirstDone.value = true), FIRST_MS);
    this.session.blocks.start();
  }

  async #fetched(runId: string, id: string): Promise<Loaded> {
    const version = this.session.run.now.peek()?.version ?? "";
    const reply = await getSample(runId, id, promptAfter.peek() || undefined);
    return { reply, version };
  }

  async #show(runId: string, id: string, isAsked: boolean): Promise<void> {
    const key = keyOf(runId, id);
    const after = promptAfter.peek();
    const cached = this.#replies.peek(key);
    this.pageError.value = null;
    if (cached !== undefined) this.now.value = cached.reply;
    if (!isAsked && cached !== undefined && cached.version === this.session.run.now.peek()?.version) return;
    try {
      const { reply } = await this.#replies.renew(key, () => this.#fetched(runId, id));
      if (this.session.place.now.peek().sample !== id || this.session.place.now.peek().run !== runId) return;
      if (promptAfter.peek() !== after) return; // the division of prompts has changed: its own reply will come
      this.#failure.value = null;
      if (!isSame(reply, this.now.peek())) this.now.value = reply;
    } catch (error) {
      if (this.session.place.now.peek().sample !== id || this.session.place.now.peek().run !== runId) return;
      this.#failure.value = { key, error: asApiError(error) };
    }
  }
}
