/** How the reader likes the list: its columns, what a row says of a sample, and the widths of the table's columns. */

import { computed, effect, signal } from "@preact/signals";
import { MAX_CHARTS, type Mode } from "../lib/address";
import { fields, keep, kept } from "./kept";
import { go, place } from "./place";

/** What a row shows of its sample: how the response begins, how it ends, or the prompt. */
export type Preview = "response" | "end" | "prompt";

export interface ListView {
  /** Columns beside each group and sample; null for what is usual. */
  columns: readonly string[] | null;
  /** Columns of the table, beside the id, which says step and group. */
  table: readonly string[];
  /** What is drawn by step below the reward; null for what is usual. */
  charts: readonly string[] | null;
  preview: Preview;
  hasTooltips: boolean;
  /** Of the table's columns, in pixels, by name. */
  widths: Readonly<Record<string, number>>;
}

const USUAL: ListView = {
  columns: null,
  table: ["reward", "advantage", "status", "response_tokens", "turns"],
  charts: null,
  preview: "response",
  hasTooltips: true,
  widths: {},
};

const KEY = "rolloupe.lists"; // "rolloupe.list" held the usual columns as if they were chosen
export const WIDTH = { least: 48, most: 800 };

export const view = signal<ListView>(restored(kept(KEY)));

/** The columns that the list shows now: those of the address, else the reader's own; null for the usual ones. */
export const shownColumns = computed<readonly string[] | null>(() => {
  const { columns, mode } = place.value;
  return columns ?? (mode === "table" ? view.value.table : view.value.columns);
});

/** True while the table has the columns that it has for everybody. */
export const isUsualTable = computed(() => place.value.columns === null && ownColumns("table") === null);

/** The columns that the reader chose for a mode; null where they are the usual ones. */
function ownColumns(mode: Mode | null): readonly string[] | null {
  const { columns, table } = view.value;
  return mode !== "table" ? columns : table.join("\n") === USUAL.table.join("\n") ? null : table;
}

/** Draw these from now on; null for the usual ones. */
export function chooseCharts(charts: readonly string[] | null): void {
  chooseView({ charts });
  go({ charts: null }, "replace");
}

export function chooseView(change: Partial<ListView>): void {
  view.value = { ...view.value, ...change };
}

/** Show other columns, in this mode, from now on; null for the usual ones. */
export function chooseColumns(columns: readonly string[] | null): void {
  chooseView(place.peek().mode === "table" ? { table: columns ?? USUAL.table } : { columns });
  go({ columns: null }, "replace");
}

/** True while the table covers the sample; opening one gives it its room. */
export const isWide = signal(true);

export function chooseMode(mode: Mode): void {
  isWide.value = true;
  go({ mode, columns: null });
}

/** What was kept; whatever does not fit is as usual. */
export function restored(text: string | null): ListView {
  const given = fields<ListView>(text);
  const names = <T>(value: unknown, usual: T): readonly string[] | T =>
    Array.isArray(value) ? [...new Set(value.filter((name): name is string => typeof name === "string" && name !== ""))] : usual;
  const widths = typeof given.widths === "object" && given.widths !== null ? Object.entries(given.widths) : [];
  return {
    columns: names(given.columns, USUAL.columns),
    table: names(given.table, USUAL.table),
    charts: Array.isArray(given.charts) ? names(given.charts, []).slice(0, MAX_CHARTS) : null,
    preview: given.preview === "prompt" || given.preview === "end" ? given.preview : "response",
    hasTooltips: given.hasTooltips !== false,
    widths: Object.fromEntries(widths.filter(([, px]) => typeof px === "number" && px >= WIDTH.least && px <= WIDTH.most)),
  };
}

/** Keep what is chosen, and put columns of the reader's own into the address, so that a link shows what its sender saw. */
export function startView(): void {
  keep(KEY, view);
  effect(() => {
    const { page, charts, sample } = place.value;
    if (page === "rollouts" && charts === null && sample !== null && view.value.charts !== null && view.value.charts.length > 0) go({ charts: view.value.charts }, "replace");
  });
  effect(() => {
    const { page, columns, sample, mode } = place.value;
    if (page !== "rollouts" || columns !== null || sample === null) return;
    const own = ownColumns(mode);
    if (own !== null) go({ columns: own }, "replace");
  });
}
