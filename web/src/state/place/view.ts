/** The current columns, charts and kind of list: those of the address, else the reader's preferences. */

import { computed, signal } from "@preact/signals";
import { type Chart, textOf } from "../../lib/charts/chart";
import type { Mode } from "../../lib/address/address";
import { chooseView, USUAL, view } from "../browser/listView";
import { choose, ownCharts } from "../browser/settings";
import { Store } from "../store";

/** The columns that the reader chose for a mode; null for the default. */
function ownColumns(mode: Mode | null): readonly string[] | null {
  const { columns, table } = view.value;
  return mode !== "table" ? columns : table.join("\n") === USUAL.table.join("\n") ? null : table;
}

export class ViewStore extends Store {
  /** The current columns of the list: those of the address, else the reader's own; null for the default. */
  readonly shownColumns = computed<readonly string[] | null>(() => {
    const { columns, mode } = this.session.place.now.value;
    return columns ?? (mode === "table" ? view.value.table : view.value.columns);
  });

  /** True while the table has its default columns. */
  readonly isUsualTable = computed(() => this.session.place.now.value.columns === null && ownColumns("table") === null);

  /** True for a default column of the table that tells no two samples apart: the table leaves it out. */
  readonly isIdle = (name: string): boolean =>
    this.isUsualTable.value &&
    name !== this.session.place.field.sort.value &&
    (this.isEmpty(name) || this.#isSame(name));

  /** True for a column that the run lacks, for one number, and for a status that no sample of the list has. */
  #isSame(name: string): boolean {
    const column = this.session.columns.named(name);
    if (name === "prompt" || this.session.columns.all.value.length === 0) return false;
    if (column === null) return true;
    if (name === "status") return this.session.list.now.value?.hasStatus !== true;
    return column.kind === "number" && column.low !== null && column.low === column.high;
  }

  /** True for a column of numbers without any value. */
  readonly isEmpty = (name: string): boolean => this.session.columns.named(name)?.is_empty === true;

  /** Show these charts from now on; null for the default. */
  chooseCharts(charts: readonly Chart[] | null): void {
    choose({ charts: charts?.map(textOf) ?? null });
    this.session.place.go({ charts: null }, "replace");
  }

  /** Show other columns in this mode from now on; null for the default. */
  chooseColumns(columns: readonly string[] | null): void {
    chooseView(this.session.place.now.peek().mode === "table" ? { table: columns ?? USUAL.table } : { columns });
    this.session.place.go({ columns: null }, "replace");
  }

  /** True while the table covers the sample; opening a sample gives it room. */
  readonly isWide = signal(true);

  readonly chooseMode = (mode: Mode): void => {
    this.isWide.value = true;
    this.session.place.go({ mode, columns: null });
  };

  /** Put the reader's own charts and columns into the address, so that a link shows what its sender saw. */
  start(): void {
    this.effect(() => {
      const { page, charts, sample } = this.session.place.now.value;
      const own = ownCharts.value;
      if (page === "rollouts" && charts === null && sample !== null && own !== null && own.length > 0)
        this.session.place.go({ charts: own }, "replace");
    });
    this.effect(() => {
      const { page, columns, sample, mode } = this.session.place.now.value;
      if (page !== "rollouts" || columns !== null || sample === null) return;
      const chosen = ownColumns(mode);
      if (chosen !== null) this.session.place.go({ columns: chosen }, "replace");
    });
  }
}
