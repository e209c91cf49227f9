/** The samples to export, and the address of their file. */

import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { exportAddress } from "../../api";
import { bookmarksCall, samplesCall, type Selection } from "../../lib/address/python";
import { queryOf } from "../../lib/list/scope";

export type Of = "samples" | "bookmarks";
export type Kind = "jsonl" | "parquet" | "csv" | "html";

/** The subject of the open card; null while it is closed. */
export const exportOpen = signal<Of | null>(null);

/** The samples of the current list, for the file and the Python call. */
export function selectionNow(session: Session): Selection {
  const of = session.list.scope.value;
  if (of === null) return {};
  const { column: _, ...query } = queryOf(of);
  return query;
}

export const callOf = (session: Session, of: Of): string =>
  of === "bookmarks"
    ? bookmarksCall(session.run.now.value?.path ?? "")
    : samplesCall(session.run.now.value?.path ?? "", selectionNow(session));

export function fileOf(session: Session, of: Of, to: Kind, isWhole: boolean): string {
  const texts = isWhole ? "whole" : "start";
  return exportAddress(
    session.run.now.value?.id ?? "",
    of === "bookmarks" ? { to, texts, of } : { to, texts, ...selectionNow(session) },
  );
}

/** The address of a report: one file that opens without Rolloupe. */
export function reportOf(session: Session, of: Of, hasTokens: boolean, hasNotes: boolean): string {
  const what = { to: "html", tokens: hasTokens, notes: hasNotes };
  return exportAddress(
    session.run.now.value?.id ?? "",
    of === "bookmarks" ? { ...what, of } : { ...what, ...selectionNow(session) },
  );
}
