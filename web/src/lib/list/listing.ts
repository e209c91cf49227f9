/** A list as the page holds it: pages of samples, or of groups with their samples, and which sample stands where. */

import type { GroupItem, SampleItem } from "../../api/types.gen";
import type { Extent, Mode, Place } from "../address/address";

/** Which samples, in which order, shown how. */
export interface Scope {
  run: string;
  split: string;
  /** Null where the list is of several steps. */
  step: number | null;
  /** First and last step of a range; null for an open end. */
  low: number | null;
  high: number | null;
  where: string;
  sort: string;
  descending: boolean;
  /** Null: groups, or samples where every group has one alone. */
  mode: Mode | null;
  columns: readonly string[];
  /** The reader chose no columns: groups come with the most informative ones, behind these. */
  usual: boolean;
  /** Of the samples that were not trained on, in place of those that were. */
  discarded: boolean;
}

export interface Listing {
  scope: Scope;
  key: string;
  version: string;
  mode: Mode;
  /** What is known of each row, in the order of its values. */
  columns: readonly string[];
  /** Samples that fulfil the filter, and those that there are in the scope. */
  total: number;
  of: number;
  /** Rows of the list: groups or samples. */
  rows: number;
  pages: ReadonlyMap<number, readonly SampleItem[]>;
  groups: ReadonlyMap<number, readonly GroupItem[]>;
  /** What was asked for, of this list: a Set of its own, as lists are made anew. */
  asked: Set<string>;
  /** Another number where the samples of the step are others; 0 for several steps. */
  stamp: number;
  /** Samples without a value yet of a derived metric that the list is sorted or filtered by. */
  pending: number;
}

/** Rows of a page. */
export const PAGE = 100;
/** More pages of a list are not held: who scrolls through millions of rows looks at few of them. */
export const MOST_PAGES = 60;

/** What is shown of a row as long as the reader chose nothing; of groups it is the server that adds what says more. */
const LEAST: readonly string[] = ["reward"];

/** `chosen`: the columns that the reader wants; null for the usual ones. */
export function scopeAt(at: Place, chosen: readonly string[] | null): Scope | null {
  const { run, split, step, sort, descending, where, mode, extent, discarded } = at;
  if (at.page !== "rollouts" || run === null || split === null || (step === null && extent === "step")) return null;
  const [low, high] = ends(extent);
  const columns = chosen ?? LEAST;
  const shown = mode === "table" && columns.includes(sort) ? columns : led(columns, sort);
  return {
    run,
    split,
    step: extent === "step" ? step : null,
    low,
    high,
    where,
    sort,
    descending,
    mode,
    columns: shown,
    usual: chosen === null,
    discarded,
  };
}

/** What is shown of each row: first what the list is sorted by, so that its order can be seen. */
function led(columns: readonly string[], sort: string): readonly string[] {
  return sort === "index" || sort === "length" ? columns : [sort, ...columns.filter((name) => name !== sort)];
}

function ends(extent: Extent): readonly [number | null, number | null] {
  return typeof extent === "string" ? [null, null] : extent;
}

export function keyOf(of: Scope): string {
  return JSON.stringify([
    of.run,
    of.split,
    of.step,
    of.low,
    of.high,
    of.where,
    of.sort,
    of.descending,
    of.mode,
    of.columns,
    of.usual,
    of.discarded,
  ]);
}

/** True where a step is one of the list's. */
export function holds({ step, low, high }: Scope, one: number): boolean {
  return step === null ? (low === null || one >= low) && (high === null || one <= high) : one === step;
}

export const groupIds = (group: GroupItem): string[] => group.members.map((member) => group.prefix + member);

/** The place of each sample that is known, in the order of the list. */
export function placesOf(list: Listing): Map<string, number> {
  const result = new Map<string, number>();
  for (const [page, items] of list.pages) items.forEach((item, i) => result.set(item.id, page * PAGE + i));
  for (const groups of list.groups.values()) {
    for (const group of groups) groupIds(group).forEach((id, i) => result.set(id, group.first + i));
  }
  return result;
}

export function itemAt(list: Listing | null, at: number): SampleItem | undefined {
  return list?.pages.get(Math.floor(at / PAGE))?.[at % PAGE];
}

export function groupAt(list: Listing | null, row: number): GroupItem | undefined {
  return list?.groups.get(Math.floor(row / PAGE))?.[row % PAGE];
}

/** The id of the sample that stands at a place, where that is known. Of large groups the last ones are not. */
export function idAt(list: Listing, at: number): string | undefined {
  if (list.mode !== "groups") return itemAt(list, at)?.id;
  const group = groupAt(list, rowOf(list, at) ?? -1);
  const member = group?.members[at - group.first];
  return group === undefined || member === undefined ? undefined : group.prefix + member;
}

/** The row in which the sample at a place stands; null where that is not known. */
export function rowOf(list: Listing, at: number): number | null {
  if (list.mode !== "groups") return at;
  for (const [page, groups] of list.groups) {
    const first = groups[0];
    const last = groups.at(-1);
    if (first === undefined || last === undefined || at < first.first || at >= last.first + last.samples) continue;
    return page * PAGE + groups.findLastIndex((group) => group.first <= at);
  }
  return null;
}

/** The first sample of a row, where it is known. */
export function idOfRow(list: Listing, row: number): string | undefined {
  if (list.mode !== "groups") return itemAt(list, row)?.id;
  const group = groupAt(list, row);
  return group === undefined ? undefined : groupIds(group)[0];
}
