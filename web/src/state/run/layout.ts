/**
 * The layout of the page of metrics: the charts of the address, else the person's own for the run, which the server
 * keeps, else the usual ones.
 *
 * The address repeats the person's own charts, so that a link shows what its sender saw. A link with other charts shows
 * those, and leaves the person's own as they are until they are replaced.
 */

import { computed, signal, untracked } from "@preact/signals";
import { type Chart, textOf } from "../../lib/charts/chart";
import { STEP } from "../../lib/charts/across";
import { chartsIn, type Kept, xIn } from "../../lib/charts/layout";
import { ofLayout, put, recordAt } from "../marks";
import { Store } from "../store";

const PAGE = "metrics";

const wordsOf = (charts: readonly Chart[] | null): string => JSON.stringify(charts?.map(textOf) ?? null);

interface Taken {
  title: string;
  /** The charts before. */
  before: readonly Chart[] | null;
}

export class LayoutStore extends Store {
  readonly #stored = computed(() => {
    const { run } = this.session.place.now.value;
    return run === null ? null : recordAt(ofLayout(run, PAGE));
  });

  /** The person's own charts for the run; null for the usual ones. */
  readonly own = computed<readonly Chart[] | null>(() => chartsIn(this.#stored.value));

  /** What stands across all charts, as text; empty for the step. */
  readonly x = computed<string>(() => {
    const x = this.session.place.now.value.ask["x"] ?? xIn(this.#stored.value);
    return x === STEP ? "" : x;
  });

  /** The charts to show; null for the usual ones. */
  readonly charts = computed<readonly Chart[] | null>(() => this.session.place.now.value.charts ?? this.own.value);

  /** True for the charts of a link that are not the person's own. */
  readonly isOfLink = computed(() => {
    const { charts } = this.session.place.now.value;
    return charts !== null && wordsOf(charts) !== wordsOf(this.own.value);
  });

  readonly #taken = signal<(Taken & { run: string | null; after: string }) | null>(null);

  /** The chart that was taken away last, as long as nothing has changed since; null for none. */
  readonly taken = computed<Taken | null>(() => {
    const taken = this.#taken.value;
    const isNow = taken?.run === this.session.place.now.value.run && taken.after === wordsOf(this.charts.value);
    return isNow ? taken : null;
  });

  /** Show all charts but one. */
  takeAway(title: string, charts: readonly Chart[]): void {
    const { run } = this.session.place.now.peek();
    this.#taken.value = { title, before: this.charts.peek(), run, after: wordsOf(charts) };
    this.change(charts);
  }

  bringBack(): void {
    const taken = this.taken.peek();
    if (taken !== null) this.change(taken.before);
    this.#taken.value = null;
  }

  /** What this page put into the address, and for which run. */
  #written = { run: "", words: "" };

  /** Show other charts; null for the usual ones. Those of a link stay in the address. */
  change(charts: readonly Chart[] | null): void {
    if (this.isOfLink.peek()) this.session.place.go({ charts }, "replace");
    else this.keep(charts);
  }

  /** Put something else across all charts. */
  changeX(x: string): void {
    if (!this.isOfLink.peek()) this.#put(this.own.peek(), x);
    this.#goAcross(x);
  }

  /** Make these charts the person's own, and what stands across them. */
  keep(charts: readonly Chart[] | null, x = this.x.peek()): void {
    const run = this.session.place.now.peek().run ?? "";
    this.#written = { run, words: wordsOf(charts) };
    this.#put(charts, x);
    this.session.place.go({ charts }, "replace");
    if (x !== this.x.peek()) this.#goAcross(x);
  }

  /** Make a layout, of a file, the person's own. */
  load({ charts, x }: Kept): void {
    this.keep(charts, x);
  }

  #put(charts: readonly Chart[] | null, x: string): void {
    const run = this.session.place.now.peek().run ?? "";
    const setting = { ...(charts === null ? {} : { charts: charts.map(textOf) }), ...(x === "" ? {} : { x }) };
    void put(ofLayout(run, PAGE), Object.keys(setting).length === 0 ? null : setting);
  }

  /** A range of the old numbers means nothing among the new ones. */
  #goAcross(x: string): void {
    const { zoom: _, ...ask } = this.session.place.now.peek().ask;
    this.session.place.go({ ask: { ...ask, x: x === "" ? STEP : x } }, "replace");
  }

  /** Show the person's own charts instead of those of the link. */
  back(): void {
    this.session.place.go({ charts: this.own.peek() }, "replace");
  }

  start(): void {
    this.effect(() => {
      const { page, run, ask } = this.session.place.now.value;
      const x = xIn(this.#stored.value);
      if (page !== PAGE || run === null || x === "" || ask["x"] !== undefined) return;
      untracked(() => this.session.place.go({ ask: { ...ask, x } }, "replace"));
    });
    this.effect(() => {
      const own = this.own.value;
      const { page, run, charts } = this.session.place.now.value;
      if (page !== PAGE || run === null) return;
      const words = wordsOf(own);
      const isOwn = [words, this.#written.run === run ? this.#written.words : words].includes(wordsOf(charts));
      if (charts !== null && !isOwn) return;
      this.#written = { run, words };
      if (wordsOf(charts) !== words) untracked(() => this.session.place.go({ charts: own }, "replace"));
    });
  }
}
