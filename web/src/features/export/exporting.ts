/** What is to be taken out of the page, and the address of its file. */

import { computed, signal } from "@preact/signals";
import { exportAddress } from "../../api";
import { bookmarksCall, samplesCall, type Selection } from "../../lib/python";
import { listing } from "../../state/list";
import { place } from "../../state/place";
import { run } from "../../state/runs";

export type Of = "samples" | "bookmarks";
export type Kind = "jsonl" | "parquet" | "csv";

/** What the card is open for; null while it is closed. */
export const exportOpen = signal<Of | null>(null);

/** The samples of the list as it is asked for: what the file and the Python call are of. */
export const selection = computed<Selection>(() => {
  const { split, step, discarded, sort, descending } = place.value;
  const column = sort === "length" ? (listing.value?.column ?? "response_tokens") : sort;
  return { split: split ?? undefined, step: step ?? undefined, trained: !discarded, sort: column, descending };
});

export const callOf = (of: Of): string => (of === "bookmarks" ? bookmarksCall(run.value?.path ?? "") : samplesCall(run.value?.path ?? "", selection.value));

export function fileOf(of: Of, to: Kind, isWhole: boolean): string {
  const texts = isWhole ? "whole" : "start";
  return exportAddress(run.value?.id ?? "", of === "bookmarks" ? { to, texts, of } : { to, texts, ...selection.value });
}
