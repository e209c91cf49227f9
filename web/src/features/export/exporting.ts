/** What is to be taken out of the page, and the address of its file. */

import { computed, signal } from "@preact/signals";
import { exportAddress } from "../../api";
import { bookmarksCall, samplesCall, type Selection } from "../../lib/python";
import { columnOf } from "../../state/columns";
import { scope } from "../../state/list";
import { queryOf } from "../../state/listing";
import { run } from "../../state/runs";

export type Of = "samples" | "bookmarks";
export type Kind = "jsonl" | "parquet" | "csv";

/** What the card is open for; null while it is closed. */
export const exportOpen = signal<Of | null>(null);

/** The samples of the list as it is asked for: what the file and the Python call are of. */
export const selection = computed<Selection>(() => {
  const of = scope.value;
  if (of === null) return {};
  const { column: _, ...query } = queryOf(of);
  return query;
});

/** Lists are sorted by length, Python by a column. */
function columnFor(sort: string | undefined): string | undefined {
  if (sort !== "length" || columnOf(sort) !== null) return sort;
  return columnOf("response_tokens") === null ? "response_chars" : "response_tokens";
}

export const callOf = (of: Of): string =>
  of === "bookmarks" ? bookmarksCall(run.value?.path ?? "") : samplesCall(run.value?.path ?? "", { ...selection.value, sort: columnFor(selection.value.sort) });

export function fileOf(of: Of, to: Kind, isWhole: boolean): string {
  const texts = isWhole ? "whole" : "start";
  return exportAddress(run.value?.id ?? "", of === "bookmarks" ? { to, texts, of } : { to, texts, ...selection.value });
}
