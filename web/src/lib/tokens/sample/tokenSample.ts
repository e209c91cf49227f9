/** The tokens of a whole sample, assembled from the pages that the server sent. */

import type { MaskRuleInfo, TokenArray, TokensHeader, UpdateRuleInfo } from "../../../api/types.gen";
import { inFlow, partialBytes, type Spelling, textOf } from "./readable";
import { NO_PAD, type PaddedTokens, paddingOf, paddingWords } from "./padding";
import { type Segment, segmentsOf, trainedOf, type TurnRole } from "./segments";
import { sorted } from "../scale";

export interface Series extends Pick<TokenArray, "name" | "title" | "about" | "origin" | "scale"> {
  values: Float64Array;
}

/** A page of tokens as `api/tokens.ts` decodes it. */
export interface Page {
  total: number;
  start: number;
  count: number;
  ids: Int32Array | Float64Array | null;
  spans: Readonly<Record<"turn", Int32Array>>;
  series: ReadonlyMap<string, Series>;
  rules: readonly MaskRuleInfo[];
  updates: readonly UpdateRuleInfo[];
  text: ((place: number) => string) | null;
  spelling: Spelling;
  hasAlternatives: boolean;
  partial: TokensHeader["partial"];
}

/** Flags that a trainer recorded: numbers, but no values to compare. */
export const FLAGS: ReadonlySet<string> = new Set([
  "loss_mask",
  "attention_mask",
  "is_masked",
  "is_masked_high",
  "is_masked_low",
]);
const MASKS: ReadonlySet<string> = new Set(["loss_mask", "attention_mask"]);
/** The series to begin with, in order of preference. */
export const FIRST: readonly string[] = [
  "kl_k3",
  "kl",
  "mismatch_kl",
  "importance_ratio",
  "entropy",
  "log_ratio",
  "advantages",
  "logprobs",
];

/** The log-probabilities of the policy: without a mask, the first series that a sample has says which tokens count. */
const POLICY = ["trainer_logprobs", "old_logprobs", "logprobs"];

/** The order of a table's rows; other series follow. */
const ROWS = [
  "token_rewards",
  "log_ratio",
  "kl",
  "values",
  "logprobs",
  "ref_logprobs",
  "probability",
  "ref_probability",
];

export class TokenSample {
  /** The first shown token: earlier ones are padding. */
  readonly first: number;
  /** The number of tokens, with the padding at the start and without that at the end. */
  readonly count: number;
  /** The hidden padding, in words; empty for none. */
  readonly padding: string;
  readonly segments: readonly Segment[];
  /** 1 for each token that the update counts. */
  readonly trained: Uint8Array;
  /** The first token of the strip and the heat map: the first trained token, because the prompt has nothing to draw. */
  readonly start: number;
  readonly series: readonly Series[];
  readonly rules: readonly MaskRuleInfo[];
  readonly updates: readonly UpdateRuleInfo[];
  /** True if the record holds alternatives of the tokens. */
  readonly hasAlternatives: boolean;
  readonly spelling: Spelling;
  readonly #partial: TokensHeader["partial"];
  readonly #ids: Int32Array | Float64Array | null;
  readonly #text: ((token: number) => string) | null;
  readonly #ordered = new Map<string, Float64Array>();

  constructor(pages: readonly Page[], turns: (turn: number) => TurnRole | null, pad = NO_PAD) {
    const { ids, text, turn, series, total } = joined(pages);
    this.#ids = ids;
    this.#text = text;
    this.series = series;
    this.rules = pages[0]?.rules ?? [];
    this.updates = pages[0]?.updates ?? [];
    this.hasAlternatives = pages[0]?.hasAlternatives ?? false;
    this.spelling = pages[0]?.spelling ?? "plain";
    this.#partial = pages[0]?.partial ?? {};
    const lossMask = this.named("loss_mask")?.values ?? null;
    const padding = paddingOf(this.#padded(total, lossMask), pad);
    this.first = padding.first;
    this.count = padding.stop;
    this.padding = paddingWords(padding, total);
    const firstString = this.#firstString();
    const run = { first: this.first, count: this.count, turn, firstString, lossMask };
    this.segments = segmentsOf(run, turns);
    const policy = POLICY.map((name) => this.named(name)).find((one) => one !== null);
    const known = policy === undefined ? series : [policy];
    this.trained = trainedOf(
      run,
      known.map(({ values }) => values),
    );
    this.start = Math.max(this.first, this.trained.indexOf(1));
  }

  get hasIds(): boolean {
    return this.#ids !== null;
  }

  get hasText(): boolean {
    return this.#text !== null;
  }

  named(name: string): Series | null {
    return this.series.find((one) => one.name === name) ?? null;
  }

  /** The series to begin with: the reader's own, else the most informative one. */
  usual(wanted: string): Series | null {
    const names = [wanted, ...FIRST];
    const found = names.map((name) => this.named(name)).find((one) => one !== null);
    return found ?? this.series.find(({ name }) => !FLAGS.has(name)) ?? this.series[0] ?? null;
  }

  /** All series in the order of a table. */
  rows(): Series[] {
    const first = ROWS.flatMap((name) => this.named(name) ?? []);
    return [...first, ...this.series.filter((one) => !first.includes(one))];
  }

  /** The finite values of a series at trained tokens, in order. */
  ordered({ name, values }: Series): Float64Array {
    const known = this.#ordered.get(name);
    if (known !== undefined) return known;
    const result = sorted(values, (token) => this.trained[token] === 1);
    this.#ordered.set(name, result);
    return result;
  }

  id(token: number): number | null {
    const id = this.#ids?.[token] ?? -1;
    return id < 0 ? null : id;
  }

  /** The string of a token as in the record; null without one. */
  raw(token: number): string | null {
    return this.#text === null || token < this.#firstString() ? null : this.#text(token);
  }

  /** The text that a token adds; null if the record does not say. */
  text(token: number): string | null {
    return this.#text === null || token < this.#firstString() ? null : textOf({ at: this.#text }, token, this.spelling);
  }

  /** The bytes of a token that is not valid text on its own, such as `F0 9F`; empty for others. */
  bytes(token: number): string {
    return this.#partial[String(this.id(token))] ?? partialBytes(this.raw(token) ?? "", this.spelling);
  }

  /** The token as a label: its text, or its id. */
  label(token: number, shown: (text: string) => string = inFlow): string {
    const text = this.text(token);
    if (text !== null && text !== "") return shown(text);
    const id = this.id(token);
    return text === null && id !== null ? String(id) : "◌";
  }

  /** True for a token that ends a line of the text. */
  endsLine(token: number): boolean {
    return /(\n|Ċ|<0x0A>)$/.test(this.raw(token) ?? "");
  }

  segmentOf(token: number): Segment | null {
    return this.segments.find(({ from, stop }) => from <= token && token < stop) ?? null;
  }

  #first: number | null = null;

  /** Strings belong to the last tokens: earlier ones have none. */
  #firstString(): number {
    this.#first ??= firstWithString(this.#text, this.count);
    return this.#first;
  }

  #padded(total: number, lossMask: Float64Array | null): PaddedTokens {
    const series = this.series.filter(({ name }) => !MASKS.has(name));
    return {
      total,
      id: (token) => this.id(token),
      string: (token) => this.#text?.(token) ?? null,
      attentionMask: this.named("attention_mask")?.values ?? null,
      lossMask,
      hasValue: (token) => series.some(({ values }) => !Number.isNaN(values[token] ?? NaN)),
    };
  }
}

function firstWithString(text: ((token: number) => string) | null, count: number): number {
  if (text === null) return count;
  let token = 0;
  while (token < count && text(token) === "") token += 1;
  return token;
}

interface Joined {
  total: number;
  ids: Int32Array | Float64Array | null;
  turn: Int32Array;
  series: readonly Series[];
  text: ((token: number) => string) | null;
}

/** Joins pages. A single page stays a view of the server's bytes. */
function joined(pages: readonly Page[]): Joined {
  const [first] = pages;
  if (first === undefined) return { total: 0, ids: null, turn: new Int32Array(), series: [], text: null };
  const { ids, spans, text } = first;
  const total = pages.reduce((sum, { count }) => sum + count, 0);
  if (pages.length === 1) return { total, ids, turn: spans.turn, series: [...first.series.values()], text };
  const turn = new Int32Array(total);
  for (const page of pages) turn.set(page.spans.turn, page.start);
  const all = (values: (page: Page) => ArrayLike<number> | undefined): Float64Array => {
    const result = new Float64Array(total).fill(NaN);
    for (const page of pages) result.set(values(page) ?? [], page.start);
    return result;
  };
  const series: Series[] = [];
  for (const one of first.series.values())
    series.push({ ...one, values: all((page) => page.series.get(one.name)?.values) });
  const pageOf = (token: number): Page | undefined =>
    pages.find(({ start, count }) => start <= token && token < start + count);
  return {
    total,
    ids: ids === null ? null : all((page) => page.ids ?? undefined),
    turn,
    series,
    text:
      text === null
        ? null
        : (token) => {
            const page = pageOf(token);
            return page?.text?.(token - page.start) ?? "";
          },
  };
}
