/** The samples to export, and the address of their file. */

import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { exportAddress } from "../../api";
import type { SampleReply } from "../../api/types.gen";
import { decoded } from "../../lib/address/decoded";
import { bookmarksCall, pairsCall, sampleCall, samplesCall, type Selection } from "../../lib/address/python";
import { queryOf } from "../../lib/list/scope";

/** The samples of the list, the bookmarked ones, the judged ones, or the open one. */
export type Of = "samples" | "bookmarks" | "judgements" | "sample";
export type Kind = "jsonl" | "parquet" | "csv" | "html" | "pairs";

/** The subject of the open card, and the kind of file to begin with; null while it is closed. */
export const exportOpen = signal<{ of: Of; kind: Kind } | null>(null);

export function openExport(of: Of, kind: Kind = "jsonl"): void {
  exportOpen.value = { of, kind };
}

/** The samples to export, for the file and the Python call; none for bookmarks, which are of the whole run. */
export function selectionNow(session: Session, of: Of): Selection {
  if (of === "sample") return selectionOf(session.sample.now.value);
  if (of === "judgements") return { split: session.place.now.value.split ?? undefined };
  const scope = session.list.scope.value;
  if (scope === null || of === "bookmarks") return {};
  const { column: _, ...query } = queryOf(scope);
  return query;
}

/** One sample, by its place in its group. */
function selectionOf(reply: SampleReply | null): Selection {
  if (reply === null) return {};
  const { split, step, group, id } = reply;
  const index = decoded(id.split("/").at(-1) ?? "");
  return { split, step, group, where: `index = "${index.replaceAll('"', '""')}"` };
}

export function callOf(session: Session, of: Of, kind: Kind): string {
  const path = session.run.now.value?.path ?? "";
  if (of === "bookmarks") return bookmarksCall(path);
  if (of === "judgements") {
    const { split } = selectionNow(session, of);
    const where = `${session.columns.judgement.value} is not null`;
    return kind === "pairs" ? pairsCall(path, split ?? "") : samplesCall(path, { split, where });
  }
  if (of === "sample") return sampleCall(path, session.sample.now.value?.id ?? "");
  return samplesCall(path, selectionNow(session, of));
}

export function fileOf(session: Session, of: Of, to: Kind, isWhole: boolean): string {
  return address(session, of, { to, texts: isWhole ? "whole" : "start" });
}

/** The optional contents of a report. */
export interface Contents {
  tokens: boolean;
  notes: boolean;
  findings: boolean;
}

/** The address of a report: one file that opens without Rolloupe. */
export const reportOf = (session: Session, of: Of, contents: Contents): string =>
  address(session, of, { to: "html", ...contents });

function address(session: Session, of: Of, what: Record<string, string | boolean>): string {
  const marked = of === "bookmarks" || of === "judgements" ? { of } : {};
  const query = { ...what, ...marked, ...selectionNow(session, of) };
  return exportAddress(session.run.now.value?.id ?? "", query);
}
