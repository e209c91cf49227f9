/** The columns of the samples of the split that is looked at: their names, kinds, and the scales of their colours. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { getColumns } from "../api";
import type { ColumnItem, ColumnsReply } from "../api/types.gen";
import { bareName, commonPrefix } from "../lib/metricNames";
import { NONE, type Scale, scaleOf } from "../lib/scales";
import { listing } from "./list";
import { place } from "./place";
import { range } from "./ranges";
import { run } from "./runs";

const loaded = signal<ColumnsReply | null>(null);

const reply = computed<ColumnsReply | null>(() => {
  const { run: id, split } = place.value;
  return loaded.value?.run === id && loaded.value?.split === split ? loaded.value : null;
});

export const columns = computed<readonly ColumnItem[]>(() => reply.value?.columns ?? []);

export const tokenSeries = computed<readonly string[]>(() => reply.value?.series ?? []);

/** How many samples a group has, at most; 0 where that is not known. */
export const groupSize = computed(() => reply.value?.group_size ?? 0);

const byName = computed(() => new Map(columns.value.map((column) => [column.name, column])));

export function columnOf(name: string): ColumnItem | null {
  return byName.value.get(name) ?? null;
}

const scales = computed(() => {
  const size = reply.value?.group_size ?? 0;
  const found = new Map<string, Scale>(columns.value.map((column) => [column.name, scaleOf(column, size)]));
  const { low, high } = range.value;
  return found.set("reward", { kind: "score", low, high });
});

/** The scale of a column's colours. */
export function scale(name: string): Scale {
  return scales.value.get(name) ?? NONE;
}

const KNOWN: ReadonlyMap<string, string> = new Map([
  ["reward", "Reward"], ["advantage", "Advantage"], ["response_tokens", "Response tokens"], ["prompt_tokens", "Prompt tokens"],
  ["total_tokens", "Tokens"], ["response_chars", "Characters"], ["turns", "Turns"], ["step", "Step"], ["status", "Status"], ["env", "Environment"],
  ["uid", "Id"], ["discarded", "Discarded"], ["group", "Group"], ["index", "Index"], ["split", "Split"],
]);

/** A column in words. */
export const label = (name: string): string => KNOWN.get(name) ?? name;

const prefix = computed(() => commonPrefix(columns.value.filter(({ source, kind }) => source === "metric" && kind === "number").map(({ name }) => name)));

/** A column in words, without what the names of all sample metrics begin with. */
export const shortLabel = (name: string): string => KNOWN.get(name) ?? (columnOf(name)?.source === "metric" ? bareName(name, prefix.value) : name);

/** Asked for when the run or the split is another, and when the list was loaded anew: never for every line that is written. */
export function startColumns(): void {
  effect(() => {
    const { run: id, split, page } = place.value;
    void listing.value?.version;
    if (page !== "rollouts" || id === null || split === null || run.value === null) return;
    untracked(() => void load(id, split));
  });
}

async function load(id: string, split: string): Promise<void> {
  const version = run.peek()?.version;
  if (reply.peek() !== null && reply.peek()?.version === version) return;
  try {
    loaded.value = await getColumns(id, split);
  } catch {
    // The list says what is wrong; without columns it has no colours.
  }
}
