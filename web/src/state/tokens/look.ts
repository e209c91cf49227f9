/** What the view of tokens shows: the series with its scale, and the token that the reader is at. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { isRatio, type ScaleChoice, scaleOf, type TokenScale } from "../../lib/tokens/scale";
import type { Series } from "../../lib/tokens/sample/tokenSample";
import { chooseScale, chooseTokens, scaleChoice, tokenChoice } from "../browser/tokenView";
import { Store } from "../store";

/** A token, and how the reader came to it: what the pointer is over goes with the pointer. */
export interface Current {
  token: number;
  by: "pointer" | "keys" | "press";
}

export interface Drawn {
  series: Series;
  scale: TokenScale;
}

export class TokenLookStore extends Store {
  /** The series that colours the tokens. */
  readonly series = computed(() => this.session.tokens.now.value?.usual(tokenChoice.value.series) ?? null);

  readonly scaleChoice = computed<ScaleChoice | null>(() => {
    const series = this.series.value;
    return series === null ? null : scaleChoice(tokenChoice.value, series.name, series.scale);
  });

  readonly scale = computed(() => {
    const series = this.series.value;
    return series === null ? null : this.scaleOf(series);
  });

  /** The scale of a series: the reader's own, else the suggested one. */
  scaleOf(series: Series): TokenScale {
    const { name, scale, values } = series;
    const ordered = this.session.tokens.now.value?.ordered(series) ?? values;
    return scaleOf(ordered, scaleChoice(tokenChoice.value, name, scale), isRatio(name));
  }

  /** The series that the form of the view is about, with its scale: the one that colours the tokens, or the update. */
  readonly drawn: ReadonlySignal<Drawn | null> = computed(() => {
    const { place, tokenUpdate: update } = this.session;
    const isUpdate = place.field.tokensAs.value === "update";
    const series = isUpdate ? update.series.value : this.series.value;
    const scale = isUpdate ? update.scale.value : this.scale.value;
    return series === null || scale === null ? null : { series, scale };
  });

  readonly current = signal<Current | null>(null);

  /** The token that the reader chose: what the pointer passes over changes nothing but the card. */
  readonly chosen = computed(() => {
    const at = this.current.value;
    return at === null || at.by === "pointer" ? null : at.token;
  });

  /** The token to bring onto the screen; another record for each time. */
  readonly target = signal<{ token: number } | null>(null);

  /** The selected range; null for all tokens. */
  readonly range = signal<{ from: number; stop: number } | null>(null);

  /** Select the tokens between two, in either order, and both of them. */
  select(one: number, other: number): void {
    this.range.value = { from: Math.min(one, other), stop: Math.max(one, other) + 1 };
  }

  /** Move the end of the range that a token is at, or begin a range there. */
  extend(from: number, to: number): void {
    const range = this.range.peek();
    const start = range === null ? from : range.from === from ? range.stop - 1 : range.from;
    this.select(start, to);
  }

  chooseSeries(name: string): void {
    chooseTokens({ series: name });
  }

  changeScale(change: Partial<ScaleChoice>): void {
    const [series, choice] = [this.series.peek(), this.scaleChoice.peek()];
    if (series !== null && choice !== null) chooseScale(series.name, { ...choice, ...change });
  }

  /** Show a token, and put it into the address. */
  readonly goTo = (token: number): void => {
    this.current.value = { token, by: "press" };
    this.target.value = { token };
    this.session.place.go({ token }, "replace");
  };

  start(): void {
    // Another sample has other tokens; a link names the one to begin with.
    this.effect(() => {
      const tokens = this.session.tokens.now.value;
      const token = this.session.place.field.token.peek();
      const isThere = tokens !== null && token !== null && token < tokens.count;
      this.current.value = isThere ? { token, by: "press" } : null;
      this.target.value = isThere ? { token } : null;
      this.range.value = null;
    });
  }
}
