/** The state of the view of tokens: the series with its scale, and the current token. */

import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { type ScaleChoice, scaleOf, type TokenScale, usualScale } from "../../lib/tokens/scale";
import type { Series, TokenSample } from "../../lib/tokens/sample/tokenSample";
import type { TokensView } from "../../lib/address/tokensAddress";
import { chooseScale, chooseTokens, type TokenChoice, tokenChoice } from "../browser/tokenView";
import { Store } from "../store";

/** A token, and how the reader came to it: a token under the pointer is forgotten when the pointer leaves. */
export interface Current {
  token: number;
  by: "pointer" | "keys" | "press";
}

export interface Drawn {
  series: Series;
  scale: TokenScale;
}

/** The first colour of runs whose own viewer begins with another one. */
const COLOURS_OF: ReadonlyMap<string, string> = new Map([["rl_logging_board", "log_ratio"]]);

export class TokenLookStore extends Store {
  /** The series that colours the tokens. */
  readonly series = computed(() => {
    const { tokens, place, run } = this.session;
    const wanted = place.field.colour.value || (COLOURS_OF.get(run.now.value?.format ?? "") ?? "");
    return tokens.now.value?.usual(wanted) ?? null;
  });

  /** The rows of the table: the chosen series that the sample has, else all series; the current one is first. */
  readonly rows = computed<readonly Series[]>(() => {
    const first = this.series.value;
    const others = (this.session.tokens.now.value?.rows() ?? []).filter(({ name }) => name !== first?.name);
    const all = first === null ? others : [first, ...others];
    const chosen = all.filter(({ name }) => this.session.place.field.tableRows.value?.includes(name) === true);
    return chosen.length === 0 ? all : chosen;
  });

  readonly scaleChoice = computed<ScaleChoice | null>(() => {
    const series = this.series.value;
    return series === null ? null : this.#choiceOf(series);
  });

  readonly scale = computed(() => {
    const series = this.series.value;
    return series === null ? null : this.scaleOf(series);
  });

  #choiceOf({ name, scale }: Series): ScaleChoice {
    const scales = this.session.place.field.scales.value;
    return (Object.hasOwn(scales, name) ? scales[name] : undefined) ?? usualScale(scale);
  }

  /** The scale of a series: the reader's own, else the suggested one. */
  scaleOf(series: Series): TokenScale {
    const { name, values } = series;
    const ordered = this.session.tokens.now.value?.ordered(series) ?? values;
    return scaleOf(ordered, this.#choiceOf(series), name);
  }

  /** True for a series whose scale the reader left to the page. */
  isUsual({ name }: Series): boolean {
    return !Object.hasOwn(this.session.place.field.scales.value, name);
  }

  /** The series that the current form shows, with its scale: the series that colours the tokens, or the update. */
  readonly drawn: ReadonlySignal<Drawn | null> = computed(() => {
    const { place, tokenUpdate: update } = this.session;
    const isUpdate = place.field.tokensAs.value === "update";
    const series = isUpdate ? update.series.value : this.series.value;
    const scale = isUpdate ? update.scale.value : this.scale.value;
    return series === null || scale === null ? null : { series, scale };
  });

  readonly current = signal<Current | null>(null);

  /** The token that the reader chose: moving the pointer changes only the card. */
  readonly chosen = computed(() => {
    const at = this.current.value;
    return at === null || at.by === "pointer" ? null : at.token;
  });

  /** The token under the pointer outside the text: in the list of worst tokens, or in the strip. */
  readonly pointed = signal<{ token: number; series: Series | null } | null>(null);

  /** The token to scroll to; a new record each time. */
  readonly target = signal<{ token: number } | null>(null);

  /** The selected range; null for all tokens. */
  readonly range = signal<{ from: number; stop: number } | null>(null);

  /** Select the tokens between two, in either order, and both of them. */
  select(one: number, other: number): void {
    this.range.value = { from: Math.min(one, other), stop: Math.max(one, other) + 1 };
  }

  /** Move the end of the range at the current token, or begin a range there. */
  extend(from: number, to: number): void {
    const range = this.range.peek();
    const start = range === null ? from : range.from === from ? range.stop - 1 : range.from;
    this.select(start, to);
  }

  chooseSeries(name: string): void {
    chooseTokens({ series: name });
    this.session.place.go({ colour: name }, "replace");
  }

  /** Show a row of the table, or hide it; the last one stays. */
  toggleRow(name: string): void {
    const all =
      this.session.tokens.now
        .peek()
        ?.rows()
        .map((one) => one.name) ?? [];
    const shown = new Set(this.rows.peek().map((one) => one.name));
    if (!shown.delete(name)) shown.add(name);
    if (shown.size === 0) return;
    this.session.place.go({ tableRows: shown.size === all.length ? null : [...shown] }, "replace");
  }

  changeScale(change: Partial<ScaleChoice>): void {
    const [series, { place }] = [this.series.peek(), this.session];
    if (series === null) return;
    // The table has a scale for each row: the ends of one are those of all, unless they are numbers.
    const isOfAll = place.now.peek().tokensAs === "table" && change.ends !== undefined && change.ends !== "fixed";
    const scales: Record<string, ScaleChoice> = {};
    for (const row of isOfAll ? this.rows.peek() : [series]) {
      const scale = { ...this.#choiceOf(row), ...change };
      scales[row.name] = scale;
      chooseScale(row.name, scale);
    }
    place.go({ scales: { ...place.now.peek().scales, ...scales } }, "replace");
  }

  /** Show a token, and put it into the address. */
  readonly goTo = (token: number): void => {
    this.current.value = { token, by: "press" };
    this.target.value = { token };
    this.session.place.go({ token, toDifference: false }, "replace");
  };

  /** Release the current token, and remove it from the address. */
  leave(): void {
    this.current.value = null;
    if (this.session.place.now.peek().token !== null) this.session.place.go({ token: null }, "replace");
  }

  /**
   * The first token that the rules treat differently, if the reader asked to go there: -1 for none, null if unknown.
   */
  #difference(): number | null {
    const { place, sample, tokens, tokenUpdate: update } = this.session;
    const [one, other] = update.now.value;
    const isThere = tokens.now.value !== null && sample.now.value?.id === place.field.sample.value;
    if (!place.field.toDifference.value || !isThere || !one || !other) return null;
    return one.effects.findIndex((effect, token) => effect !== other.effects[token]);
  }

  start(): void {
    // The address has the reader's choices, so that a link shows the same to others.
    this.effect(() => {
      const { place, tokens, tokenMasks: masks, tokenUpdate: update } = this.session;
      if (!tokens.isWanted.value || tokens.now.value === null) return;
      const known = [...masks.all.value, ...update.rules.value];
      const change = preferred(tokens.now.value, known, place.now.value, tokenChoice.value);
      if (Object.keys(change).length > 0) untracked(() => place.go(change, "replace"));
    });
    this.effect(() => {
      const token = this.#difference();
      if (token === -1) untracked(() => this.session.place.go({ toDifference: false }, "replace"));
      else if (token !== null) untracked(() => this.goTo(token));
    });
    // A new sample has new tokens; a link names the token to begin with.
    this.effect(() => {
      const tokens = this.session.tokens.now.value;
      const token = this.session.place.field.token.peek();
      const isThere = tokens !== null && token !== null && token < tokens.count;
      this.current.value = isThere ? { token, by: "press" } : null;
      this.target.value = isThere ? { token } : null;
      this.range.value = null;
      this.pointed.value = null;
    });
  }
}

/** The reader's preferences for a sample, unless the address decides. */
function preferred(
  tokens: TokenSample,
  all: readonly { name: string }[],
  { colour, scales, rules }: TokensView,
  { series, scales: own, rules: preference }: TokenChoice,
): Partial<TokensView> {
  const others = Object.entries(own).filter(([name]) => !Object.hasOwn(scales, name) && tokens.named(name) !== null);
  const isKnown = preference?.every((rule) => all.some(({ name }) => name === rule)) === true;
  return {
    ...(colour === "" && tokens.named(series) !== null && { colour: series }),
    ...(others.length > 0 && { scales: { ...scales, ...Object.fromEntries(others) } }),
    ...(rules === null && isKnown && { rules: preference?.map((name) => ({ name, thresholds: {} })) }),
  };
}
