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
import { chartsIn, type Kept, type OfAll, ofAllIn, settingOf } from "../../lib/charts/layout";
import { ofLayout, put, recordAt } from "../marks";
import { Store } from "../store";

const PAGE = "metrics";

/** The values that stand for "empty" in the address, where a missing value means the person's own. */
const EMPTY: OfAll = { x: STEP, by: "-" };

const NAMES = ["x", "by"] as const;

const wordsOf = (charts: readonly Chart[] | null): string => JSON.stringify(charts?.map(textOf) ?? null);

interface Taken {
  title: string;
  /** The previous charts. */
  before: readonly Chart[] | null;
}

export class LayoutStore extends Store {
  readonly #stored = computed(() => {
    const { run } = this.session.place.now.value;
    return run === null ? null : recordAt(ofLayout(run, PAGE));
  });

  /** The person's own charts for the run; null for the usual ones. */
  readonly own = computed<readonly Chart[] | null>(() => chartsIn(this.#stored.value));

  /** x of all charts, as text; empty for the step. */
  readonly x = computed<string>(() => this.#now("x"));

  /** The key of configurations that groups the runs; empty for none. */
  readonly by = computed<string>(() => this.#now("by"));

  #now(name: keyof OfAll): string {
    const text = this.session.place.now.value.ask[name] ?? ofAllIn(this.#stored.value)[name];
    return text === EMPTY[name] ? "" : text;
  }

  /** The charts to show; null for the usual ones. */
  readonly charts = computed<readonly Chart[] | null>(() => this.session.place.now.value.charts ?? this.own.value);

  /** True for the charts of a link that are not the person's own. */
  readonly isOfLink = computed(() => {
    const { charts } = this.session.place.now.value;
    return charts !== null && wordsOf(charts) !== wordsOf(this.own.value);
  });

  readonly #taken = signal<(Taken & { run: string | null; after: string }) | null>(null);

  /** The chart that was removed last, until the next change; null for none. */
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

  readonly #preview = signal<(Taken & { run: string | null; after: string }) | null>(null);

  /** Charts that are shown but not kept, with the title of the one that a person looks at; null for none. */
  readonly preview = computed<Taken | null>(() => {
    const { run, charts } = this.session.place.now.value;
    const preview = this.#preview.value;
    return preview?.run === run && preview.after === wordsOf(charts) && this.isOfLink.value ? preview : null;
  });

  /** Show charts without keeping them, as a link does; `title` names the new one. */
  look(title: string, charts: readonly Chart[]): void {
    const { run, charts: before } = this.session.place.now.peek();
    this.#preview.value = { title, before, run, after: wordsOf(charts) };
    this.session.place.go({ charts }, "replace");
  }

  endLook(): void {
    const preview = this.preview.peek();
    if (preview !== null) this.session.place.go({ charts: preview.before }, "replace");
    this.#preview.value = null;
  }

  bringBack(): void {
    const taken = this.taken.peek();
    if (taken !== null) this.change(taken.before);
    this.#taken.value = null;
  }

  /** The charts that this page put into the address, and their run. */
  #written = { run: "", words: "" };

  /** Show other charts; null for the usual ones. Those of a link stay in the address. */
  change(charts: readonly Chart[] | null): void {
    if (this.isOfLink.peek()) this.session.place.go({ charts }, "replace");
    else this.keep(charts);
  }

  /** x and the grouping key of all charts. */
  #ofAll(): OfAll {
    return { x: this.x.peek(), by: this.by.peek() };
  }

  /** Change x of all charts, or the key that groups the runs. */
  changeAll(change: Partial<OfAll>): void {
    const ofAll = { ...this.#ofAll(), ...change };
    if (!this.isOfLink.peek()) this.#put(this.own.peek(), ofAll);
    this.#go(ofAll);
  }

  /** Make these charts the person's own, with their x and grouping key. */
  keep(charts: readonly Chart[] | null, ofAll = this.#ofAll()): void {
    const run = this.session.place.now.peek().run ?? "";
    this.#written = { run, words: wordsOf(charts) };
    this.#put(charts, ofAll);
    this.session.place.go({ charts }, "replace");
    this.#go(ofAll);
  }

  /** Make a layout from a file the person's own. */
  load({ charts, ...ofAll }: Kept): void {
    this.keep(charts, ofAll);
  }

  #put(charts: readonly Chart[] | null, ofAll: OfAll): void {
    void put(ofLayout(this.session.place.now.peek().run ?? "", PAGE), settingOf(charts, ofAll));
  }

  /** Put the changes into the address. A range of the old x means nothing for the new one. */
  #go(ofAll: OfAll): void {
    const was = this.#ofAll();
    const changed = NAMES.filter((name) => ofAll[name] !== was[name]);
    if (changed.length === 0) return;
    const { ask } = this.session.place.now.peek();
    const kept = Object.entries(ask).filter(([name]) => name !== "zoom" || !changed.includes("x"));
    const to = changed.map((name) => [name, ofAll[name] || EMPTY[name]] as const);
    this.session.place.go({ ask: Object.fromEntries([...kept, ...to]) }, "replace");
  }

  /** Show the person's own charts instead of those of the link. */
  back(): void {
    this.session.place.go({ charts: this.own.peek() }, "replace");
  }

  start(): void {
    this.effect(() => {
      const { page, run, ask } = this.session.place.now.value;
      const stored = ofAllIn(this.#stored.value);
      const further = NAMES.filter((name) => stored[name] !== "" && ask[name] === undefined);
      if (page !== PAGE || run === null || further.length === 0) return;
      const to = Object.fromEntries(further.map((name) => [name, stored[name]]));
      untracked(() => this.session.place.go({ ask: { ...ask, ...to } }, "replace"));
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
