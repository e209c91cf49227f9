/** What is to be taken out of the page, and the address of its file. */

import { computed, signal } from "@preact/signals";
import { exportAddress } from "../../api";
import { bookmarksCall, samplesCall, type Selection } from "../../lib/python";
import { listing, scope } from "../../state/list";
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
  const isLength = query.sort === "length";
  return isLength ? { ...query, sort: hasTokens() ? "response_tokens" : "response_chars" } : query;
});

const hasTokens = (): boolean => listing.value?.pages.get(0)?.some((item) => item.response_tokens !== null) ?? true;

export const callOf = (of: Of): string => (of === "bookmarks" ? bookmarksCall(run.value?.path ?? "") : samplesCall(run.value?.path ?? "", selection.value));

export function fileOf(of: Of, to: Kind, isWhole: boolean): string {
  const texts = isWhole ? "whole" : "start";
  return exportAddress(run.value?.id ?? "", of === "bookmarks" ? { to, texts, of } : { to, texts, ...selection.value });
}
