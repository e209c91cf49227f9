/** The list of a step's samples: groups, and the pages that were looked at. It changes only when it is asked to. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getGroups, getSamples } from "../api";
import type { GroupItem, SampleItem, SamplesReply } from "../api/types.gen";
import type { Place, Sort } from "../lib/address";
import { Lru } from "../lib/lru";
import { flatRows, groupedRows, type Rows } from "../lib/rows";
import { go, place } from "./place";
import { run } from "./runs";
import { asApiError } from "./session";

/** Which samples, in which order. */
export interface Scope {
  run: string;
  split: string;
  step: number;
  discarded: boolean;
  sort: Sort;
  descending: boolean;
}

export interface Listing {
  scope: Scope;
  key: string;
  version: string;
  /** The column that the server sorts by. */
  column: string;
  total: number;
  groups: readonly GroupItem[];
  rows: Rows;
  /** True for one list of all samples: sorted by something else, or where every group has one sample alone. */
  isFlat: boolean;
  pages: ReadonlyMap<number, readonly SampleItem[]>;
  /** What was asked for, of this list: a Set of its own, as lists are made anew. */
  asked: Set<string>;
  /** Another number where the samples of the step are others. */
  stamp: number;
}

export const PAGE = 100;
const TRIES = 3;

const kept = new Lru<Listing>(24);

export const listing = signal<Listing | null>(null);
export const listingError = signal<ApiError | null>(null);

/** What the address asks for; null where it leaves that open. */
export const scope = computed<Scope | null>(() => scopeAt(place.value));

/** What changes in a run must not move the list, so this is all of it that the list looks at. */
const isRunKnown = computed(() => run.value !== null);

/** True while the list shows something else than what the address asks for. */
export const isBehind = computed(() => scope.value !== null && listing.value?.key !== keyOf(scope.value));

/** Places of the loaded samples in the list. */
const places = computed(() => {
  const found = new Map<string, number>();
  for (const [page, items] of listing.value?.pages ?? []) items.forEach((item, i) => found.set(item.id, page * PAGE + i));
  return found;
});

/** The place of the sample that is looked at; null where it is not known. */
export const position = computed<number | null>(() => {
  const { sample } = place.value;
  return sample === null ? null : (places.value.get(sample) ?? null);
});

/** The list's knowledge of a sample. */
export function itemOf(id: string): SampleItem | null {
  const at = places.value.get(id);
  return at === undefined ? null : (itemAt(listing.value, at) ?? null);
}

export function itemAt(list: Listing | null, at: number): SampleItem | undefined {
  return list?.pages.get(Math.floor(at / PAGE))?.[at % PAGE];
}

export function scopeAt(at: Place): Scope | null {
  const { run: id, split, step, discarded, sort, descending } = at;
  return at.page !== "rollouts" || id === null || split === null || step === null ? null : { run: id, split, step, discarded, sort, descending };
}

export function keyOf(of: Scope): string {
  return [of.run, of.split, of.step, of.discarded, of.sort, of.descending].join("\n");
}

/** A list, from memory or from the server. */
export async function listOf(of: Scope, around?: string | undefined): Promise<Listing> {
  return kept.get(keyOf(of), () => load(of, around));
}

/** Bring the list up to date. */
export async function reload(): Promise<void> {
  const of = scope.peek();
  if (of !== null) await show(of, true);
}

export function forgetLists(): void {
  kept.clear();
}

/** Fetch the page that a row stands on, where it is missing. */
export async function need(page: number): Promise<void> {
  const list = listing.peek();
  if (list === null || list.pages.has(page) || page * PAGE >= list.total) return;
  await add(list, `page ${page}`, () => ask(list.scope, list.column, page * PAGE));
}

/** Go so many samples on in the order of the list. */
export async function goOn(difference: number): Promise<void> {
  const here = position.peek();
  if (here === null) return;
  await goTo(here + difference);
}

/** Go to a place of the list. */
export async function goTo(at: number): Promise<void> {
  const list = listing.peek();
  if (list === null || at < 0 || at >= list.total) return;
  await need(Math.floor(at / PAGE));
  const item = itemAt(listing.peek(), at);
  if (item !== undefined && listing.peek()?.key === list.key) go({ sample: item.id });
}

export function startList(): void {
  effect(() => {
    const of = scope.value;
    if (of !== null && isRunKnown.value) untracked(() => void show(of, false));
  });
  effect(() => {
    const list = listing.value;
    const { sample } = place.value;
    if (list === null || sample === null || isBehind.value || places.value.has(sample)) return;
    untracked(() => void find(list, sample));
  });
}

async function show(of: Scope, isAsked: boolean): Promise<void> {
  const key = keyOf(of);
  const known = kept.peek(key);
  if (known !== undefined && listing.peek()?.key !== key) listing.value = known;
  if (!isAsked && known !== undefined && known.version === run.peek()?.version) return;
  try {
    const list = await kept.renew(key, () => load(of, place.peek().sample ?? undefined));
    if (keyOf(scope.peek() ?? of) !== key) return;
    listingError.value = null;
    listing.value = list;
  } catch (error) {
    if (keyOf(scope.peek() ?? of) === key) listingError.value = asApiError(error);
  }
}

/** Groups and pages are two questions; on a live run they may know of different moments, so they are asked again. */
async function load(of: Scope, around: string | undefined): Promise<Listing> {
  for (let attempt = 1; ; attempt += 1) {
    const [groups, [column, page]] = await Promise.all([groupsOf(of), firstPage(of, around)]);
    const counted = groups.reduce((sum, group) => sum + group.samples, 0);
    if (of.sort !== "index" || counted === page.total || attempt === TRIES) return listed(of, column, groups, page);
  }
}

async function groupsOf(of: Scope): Promise<GroupItem[]> {
  if (of.sort !== "index") return [];
  const { groups } = await getGroups(of.run, of.split, of.step, !of.discarded);
  return groups.toSorted((a, b) => (of.descending ? b.first - a.first : a.first - b.first));
}

/** Length is counted in tokens where the run tells them, else in characters. */
async function firstPage(of: Scope, around: string | undefined): Promise<[string, SamplesReply]> {
  const column = of.sort === "length" ? "response_tokens" : of.sort;
  const page = await ask(of, column, 0, around);
  const lacksTokens = of.sort === "length" && page.samples.every((item) => item.response_tokens === null);
  return lacksTokens ? ["response_chars", await ask(of, "response_chars", 0, around)] : [column, page];
}

async function ask(of: Scope, column: string, offset: number, around?: string): Promise<SamplesReply> {
  const { split, step, discarded, descending } = of;
  const reply = await getSamples(of.run, { split, step, trained: !discarded, sort: column, descending, offset, limit: PAGE, around });
  return reply;
}

function listed(of: Scope, column: string, groups: readonly GroupItem[], page: SamplesReply): Listing {
  const isFlat = groups.every((group) => group.samples < 2); // also where there is none
  const rows = isFlat ? flatRows(page.total) : groupedRows(groups, page.total);
  const pages = new Map([[Math.floor(page.offset / PAGE), page.samples]]);
  return { scope: of, key: keyOf(of), version: page.version, column, total: page.total, groups, rows, isFlat, pages, asked: new Set(), stamp: page.stamp };
}

async function find(list: Listing, sample: string): Promise<void> {
  await add(list, sample, () => ask(list.scope, list.column, 0, sample));
}

/**
 * Add a page to a list that is still shown. Nothing is asked for twice of one list: the page around a sample may lack
 * it, and would be asked for without end. A page of another moment means that the list has moved: load it anew. */
async function add(list: Listing, what: string, fetched: () => Promise<SamplesReply>): Promise<void> {
  if (list.asked.has(what)) return;
  list.asked.add(what);
  try {
    const page = await fetched();
    const now = listing.peek();
    if (now?.key !== list.key) return;
    if (page.total !== now.total) {
      await reload();
      return;
    }
    const grown = { ...now, pages: new Map(now.pages).set(Math.floor(page.offset / PAGE), page.samples) };
    kept.put(now.key, grown);
    listing.value = grown;
  } catch (error) {
    list.asked.delete(what);
    listingError.value = asApiError(error);
  }
}
