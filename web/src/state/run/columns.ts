/** The sample columns of the current split: their names, kinds, and colour scales. */

import { computed, signal, untracked } from "@preact/signals";
import { askColumns } from "../../api";
import { COLUMNS, type ColumnInfo, type RunColumns } from "../../api/types.gen";
import { bareName, commonPrefix } from "../../lib/list/metricNames";
import { finite } from "../../lib/numbers/numbers";
import type { Preview } from "../browser/listView";
import { NONE, type Scale, scaleOf } from "../../lib/colour/scales";
import { judgementsOf } from "../judging";
import { Store } from "../store";

const JUDGEMENT = "judgement";
/** The name of the same column in a run that has a `judgement` of its own. */
const OWN_JUDGEMENT = "my_judgement";

const JUDGEMENTS = {
  kind: "text",
  source: "tag",
  low: null,
  high: null,
  worst: null,
  best: null,
  unit: "",
  is_empty: false,
} as const;

const KNOWN: ReadonlyMap<string, string> = new Map(COLUMNS.map(({ name, label: words }) => [name, words]));

/** The columns with a shorter name for narrow places. */
export const SHORT: ReadonlyMap<string, string> = new Map(
  COLUMNS.flatMap(({ name, short }) => (short === "" ? [] : [[name, short]])),
);

export class ColumnsStore extends Store {
  readonly #loaded = signal<RunColumns | null>(null);

  readonly #reply = computed<RunColumns | null>(() => {
    const { run: id, split } = this.session.place.now.value;
    return this.#loaded.value?.run === id && this.#loaded.value?.split === split ? this.#loaded.value : null;
  });

  /** The name of the column of the person's judgements. */
  readonly judgement = computed(() =>
    this.#reply.value?.columns.some(({ name }) => name === JUDGEMENT) === true ? OWN_JUDGEMENT : JUDGEMENT,
  );

  /** Judgements are a column once there are some: the person's, which the run knows nothing of. */
  readonly all = computed<readonly ColumnInfo[]>(() => {
    const columns = this.#reply.value?.columns ?? [];
    if (columns.length === 0 || judgementsOf(this.#reply.value?.run ?? "").length === 0) return columns;
    const name = this.judgement.value;
    return [...columns, { ...JUDGEMENTS, name, label: name === JUDGEMENT ? "Judgement" : "My judgement" }];
  });

  readonly tokenSeries = computed<readonly string[]>(() => this.#reply.value?.series ?? []);

  /** The largest number of samples in a group; 0 if unknown. */
  readonly groupSize = computed(() => this.#reply.value?.group_size ?? 0);

  readonly #byName = computed(() => new Map(this.all.value.map((column) => [column.name, column])));

  named(name: string): ColumnInfo | null {
    return this.#byName.value.get(name) ?? null;
  }

  readonly #scales = computed(() => {
    const size = this.#reply.value?.group_size ?? 0;
    const result = new Map<string, Scale>(this.all.value.map((column) => [column.name, scaleOf(column, size)]));
    const { low, high } = this.session.ranges.reward.value;
    return result.set("reward", { kind: "score", low, high });
  });

  /** The scale of a column's colours. */
  scale(name: string): Scale {
    return this.#scales.value.get(name) ?? NONE;
  }

  readonly #prefix = computed(() =>
    commonPrefix(
      this.all.value.filter(({ source, kind }) => source === "metric" && kind === "number").map(({ name }) => name),
    ),
  );

  /** What rows show of a response if nobody chose: the end of agents' work, the beginning of other answers. */
  readonly usualPreview = computed<Preview>(() => ((finite(this.named("turns")?.high) ?? 1) > 1 ? "end" : "response"));

  /** A column in words. */
  readonly label = (name: string): string => KNOWN.get(name) ?? (this.named(name)?.label || name);

  /** A column in words, without the common prefix of sample metrics. */
  readonly shortLabel = (name: string): string =>
    this.named(name)?.source === "metric" ? bareName(name, this.#prefix.value) : this.label(name);

  /** Loads columns for another run or split, and after the list was reloaded: never for each new line. */
  start(): void {
    this.effect(() => {
      const { run: id, split, page } = this.session.place.now.value;
      void this.session.list.now.value?.version;
      if (page !== "rollouts" || id === null || split === null || this.session.run.now.value === null) return;
      untracked(() => void this.#load(id, split));
    });
  }

  async #load(id: string, split: string): Promise<void> {
    const version = this.session.run.now.peek()?.version;
    if (this.#reply.peek() !== null && this.#reply.peek()?.version === version) return;
    try {
      this.#loaded.value = await askColumns(id, { split });
    } catch {
      // The list reports the error; without columns it has no colours.
    }
  }
}
