/** Marks that a person added, as the page holds them: names, items by key, and the effect of a change. */

import type { ConflictReply, RunMark, SampleMark, StateItem, StateOwner } from "../api/types.gen";
import { isRecord } from "./data/record";

export const NO_RUN_MARK: RunMark = { name: "", colour: 0, hidden: false, note: "" };
export const NO_SAMPLE_MARK: SampleMark = { bookmarked: false, note: "", judgement: "", uid: "", excerpt: "" };

export type Kind = "run" | "sample" | "layout" | "setting";

/** The subject of a mark: an open run, by its id, or a closed one, by its key. */
export interface Subject {
  kind: Kind;
  run: string;
  owner: string;
  name: string;
}

/** The value of an item; null if it was removed. */
export type MarkValue = RunMark | SampleMark | Record<string, unknown> | null;

/** A change that came after another one to the same item. */
export interface Conflict {
  subject: Subject;
  mine: MarkValue;
  theirs: StateItem;
}

export const keyOf = (kind: string, owner: string, name: string): string => `${kind}\n${owner}\n${name}`;

export function valueOf(item: StateItem): MarkValue {
  if (item.run_mark !== null) return item.run_mark;
  if (item.sample_mark !== null) return item.sample_mark;
  return isRecord(item.setting) ? item.setting : null;
}

export const isSampleMark = (value: MarkValue): value is SampleMark => value !== null && "bookmarked" in value;

/** True for a bookmark or a note; false for a judgement alone. */
export const isBookmark = ({ bookmarked, note }: SampleMark): boolean => bookmarked || note !== "";

export const isRunMark = (value: MarkValue): value is RunMark =>
  value !== null && "colour" in value && "hidden" in value;

/** The items updated by newer ones; older versions and removed items are left out. */
export function merged(items: ReadonlyMap<string, StateItem>, newer: readonly StateItem[]): Map<string, StateItem> {
  const all = new Map(items);
  for (const item of newer) {
    const key = keyOf(item.kind, item.owner, item.name);
    if ((all.get(key)?.version ?? 0) <= item.version) all.set(key, item);
  }
  return all;
}

/** The key of an open run; empty while it has no marks. */
export function ownerOf(owners: readonly StateOwner[], run: string): string {
  return owners.find((one) => one.run === run)?.owner ?? "";
}

/** True for a value without content: such an item is removed. */
export function isEmpty(value: MarkValue): boolean {
  if (value === null) return true;
  if (isSampleMark(value)) return !isBookmark(value) && value.judgement === "";
  if (isRunMark(value)) return value.name === "" && value.colour === 0 && !value.hidden && value.note === "";
  return Object.keys(value).length === 0;
}

export function without<T>(map: ReadonlyMap<string, T>, key: string): Map<string, T> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

export const isConflict = (reply: unknown): reply is ConflictReply => isRecord(reply) && isRecord(reply["item"]);

/** The fields in which a value differs from the previous one. */
export function changes(before: MarkValue, value: MarkValue): object {
  const old = new Map(Object.entries(before ?? {}));
  const isOther = (key: string, one: unknown): boolean => JSON.stringify(old.get(key)) !== JSON.stringify(one);
  return Object.fromEntries(Object.entries(value ?? {}).filter(([key, one]) => isOther(key, one)));
}
