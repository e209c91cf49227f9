/** The tokens of the current sample, loaded while they are shown. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getTokens, getTurns, MOST_TOKENS } from "../../api";
import type { SampleReply, TurnView } from "../../api/types.gen";
import { Lru } from "../../lib/data/lru";
import { isRecord } from "../../lib/data/record";
import type { PadTokens } from "../../lib/tokens/sample/padding";
import { type Page, TokenSample } from "../../lib/tokens/sample/tokenSample";
import { asApiError } from "../browser/login";
import { padToken, promptAfter } from "../browser/textOptions";
import { Store } from "../store";

interface Loaded {
  /** The sample that the tokens were loaded for. */
  reply: SampleReply;
  tokens: TokenSample;
}

const LIMIT_BYTES = 160_000_000;
const BYTES_OF_VALUE = 8;
/** Strings, ids and places take about as much memory as this many series. */
const OTHER_ARRAYS = 6;

const keyOf = ({ run, id }: SampleReply): string => `${run}\n${id}\n${promptAfter.value}\n${padToken.value}`;

/** The pad token that the record names, and that of the reader. */
function padOf({ extra }: SampleReply): PadTokens {
  const named = isRecord(extra) ? (extra["pad_token_id"] ?? extra["pad_token"]) : null;
  const recorded = typeof named === "number" || typeof named === "string" ? named : null;
  return { recorded, chosen: padToken.peek() };
}

export class TokensStore extends Store {
  readonly #loaded = new Lru<Loaded>(
    LIMIT_BYTES,
    ({ tokens }) => 2000 + tokens.count * (tokens.series.length + OTHER_ARRAYS) * BYTES_OF_VALUE,
  );

  readonly #now = signal<{ key: string; loaded: Loaded | null; error: ApiError | null } | null>(null);

  readonly #current = computed(() => {
    const reply = this.session.sample.now.value;
    return reply !== null && this.#now.value?.key === keyOf(reply) ? this.#now.value : null;
  });

  /** The tokens of the shown sample; null until they are there. */
  readonly now = computed(() => this.#current.value?.loaded?.tokens ?? null);

  /** True if the sample last loaded has no tokens. */
  readonly isEmpty = computed(() => this.#now.value?.loaded?.tokens.count === 0);

  readonly error = computed(() => this.#current.value?.error ?? null);

  readonly isWanted = computed(() => {
    const { page, view } = this.session.place.now.value;
    return page === "rollouts" && view === "tokens" && this.session.sample.isShown.value;
  });

  /** Load the tokens of the shown sample for a person who is about to ask for them. */
  prepare(): void {
    const reply = this.session.sample.now.peek();
    if (reply !== null && this.#loaded.peek(untracked(() => keyOf(reply))) === undefined)
      void this.#ask(reply).catch(() => undefined); // the press repeats the request and shows its error
  }

  forget(): void {
    this.#loaded.clear();
    this.#now.value = null;
  }

  /** Load again what failed. */
  readonly again = (): void => {
    const reply = this.session.sample.now.peek();
    if (reply !== null) void this.#load(reply);
  };

  start(): void {
    this.effect(() => {
      const reply = this.session.sample.now.value;
      void [promptAfter.value, padToken.value];
      if (this.isWanted.value && reply !== null) untracked(() => void this.#load(reply));
    });
  }

  async #load(reply: SampleReply): Promise<void> {
    const key = untracked(() => keyOf(reply));
    const cached = this.#loaded.peek(key);
    if (cached !== undefined) this.#now.value = { key, loaded: cached, error: null };
    if (cached?.reply === reply) return;
    try {
      const loaded = await this.#ask(reply);
      if (this.#isCurrent(key)) this.#now.value = { key, loaded, error: null };
    } catch (error) {
      if (this.#isCurrent(key)) this.#now.value = { key, loaded: cached ?? null, error: asApiError(error) };
    }
  }

  async #ask(reply: SampleReply): Promise<Loaded> {
    return this.#loaded.renew(
      untracked(() => keyOf(reply)),
      async () => ({ reply, tokens: await whole(reply) }),
    );
  }

  #isCurrent(key: string): boolean {
    const reply = this.session.sample.now.peek();
    return reply !== null && untracked(() => keyOf(reply)) === key;
  }
}

async function whole(reply: SampleReply): Promise<TokenSample> {
  const [pages, turns] = await Promise.all([allPages(reply), allTurns(reply)]);
  return new TokenSample(pages, (turn) => turns[turn] ?? null, padOf(reply));
}

/** All pages, one by one: the server limits the tokens of an answer. */
async function allPages({ run, id }: SampleReply): Promise<Page[]> {
  const after = promptAfter.peek() || undefined;
  const pages: Page[] = [];
  for (let start = 0, total = 1; start < total || pages.length === 0; start += MOST_TOKENS) {
    // oxlint-disable-next-line no-await-in-loop -- the first page says how many there are
    const page = await getTokens(run, id, { start, count: MOST_TOKENS }, after);
    pages.push(page);
    total = page.total;
  }
  return pages;
}

/** The turns of the sample: long samples come with some of them. */
async function allTurns({
  run,
  id,
  turns,
  turn_from: from,
  turn_total: total,
}: SampleReply): Promise<readonly TurnView[]> {
  const all: TurnView[] = from === 0 ? [...turns] : [];
  while (all.length < total) {
    // oxlint-disable-next-line no-await-in-loop -- a page may hold any number of turns
    const page = await getTurns(run, id, { from: all.length }, promptAfter.peek() || undefined);
    if (page.turns.length === 0) break;
    all.push(...page.turns);
  }
  return all;
}
