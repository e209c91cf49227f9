/** The list of what is in the scope: the pages of it that were looked at. It changes only when it is asked to. */

import { computed, effect, signal, untracked } from "@preact/signals";
import type { ApiError } from "../api";
import type { GroupItem, SampleItemView } from "../api/types.gen";
import type { Place } from "../lib/address";
import { groupAt, idAt, idOfRow, itemAt, keyOf, type Listing, PAGE, placesOf, rowOf, type Scope, scopeAt as scopeOf } from "../lib/listing";
import { Lru } from "../lib/lru";
import { added, fits, forgetKinds, isAlike, loadList, type Page, pageOf } from "./listing";
import { go, place } from "./place";
import { run } from "./runs";
import { asApiError } from "./session";
import { shownColumns } from "./view";

export { itemAt, type Listing, PAGE, type Scope } from "../lib/listing";

/** Pages of all lists that are kept. */
const KEPT_PAGES = 120;

const kept = new Lru<Listing>(KEPT_PAGES, ({ pages, groups }) => pages.size + groups.size);

export const listing = signal<Listing | null>(null);
export const listingError = signal<ApiError | null>(null);

export const scopeAt = (at: Place): Scope | null => scopeOf(at, shownColumns.peek());

/** What the address asks for; null where it leaves that open. One value for as long as that is the same. */
const scopeKey = computed(() => JSON.stringify(scopeOf(place.value, shownColumns.value)));
export const scope = computed<Scope | null>(() => JSON.parse(scopeKey.value) as Scope | null);

/** What changes in a run must not move the list, so this is all of it that the list looks at. */
const isRunKnown = computed(() => run.value !== null);

/** True while the list shows something else than what the address asks for. */
export const isBehind = computed(() => scope.value !== null && listing.value?.key !== keyOf(scope.value));

/** Places of the samples in the list, as far as they are known. */
const places = computed(() => (listing.value === null ? new Map<string, number>() : placesOf(listing.value)));

/** The place of the sample that is looked at; null where it is not known. */
export const position = computed<number | null>(() => {
  const { sample } = place.value;
  return sample === null ? null : (places.value.get(sample) ?? null);
});

/** The row of the sample that is looked at; null where it is not known. */
export const rowHere = computed<number | null>(() => {
  const list = listing.value;
  return list === null || position.value === null ? null : rowOf(list, position.value);
});

/** The group of the sample that is looked at, where the list is of groups. */
export const groupHere = computed<GroupItem | null>(() => (listing.value?.mode === "groups" && rowHere.value !== null ? (groupAt(listing.value, rowHere.value) ?? null) : null));

/** The list's knowledge of a sample. */
export function itemOf(id: string): SampleItemView | null {
  const at = places.value.get(id);
  return at === undefined ? null : (itemAt(listing.value, at) ?? null);
}

/** A list, from memory or from the server. */
export async function listOf(of: Scope, around?: string | undefined): Promise<Listing> {
  return kept.get(keyOf(of), () => loadList(of, around));
}

/** Bring the list up to date. */
export async function reload(): Promise<void> {
  const of = scope.peek();
  if (of !== null) await show(of, true);
}

/**
 * Look whether the list still says what it said, though its step has another stamp: what is learned of samples later may
 * be of any step. Where it does, the list takes that stamp.
 */
export async function confirm(): Promise<void> {
  const list = listing.peek();
  if (list === null) return;
  const fresh = await loadList(list.scope, place.peek().sample ?? undefined);
  if (listing.peek() !== list || !isAlike(list, fresh)) return;
  const now = { ...list, stamp: fresh.stamp };
  kept.put(list.key, now);
  listing.value = now;
}

export function forgetLists(): void {
  kept.clear();
  forgetKinds();
}

/** Fetch a page of rows, where it is missing. */
export async function need(page: number): Promise<void> {
  const list = listing.peek();
  if (list === null || list.pages.has(page) || list.groups.has(page) || page < 0 || page * PAGE >= list.rows) return;
  await add(list, `page ${page}`, () => pageOf(list.scope, list.mode, page));
}

/** A wish to go on that came before the list knew where the sample stands. It is granted once the list does. */
let wish: { sample: string; by: number } | null = null;

/** Go so many samples on in the order of the list. */
export async function goOn(difference: number): Promise<void> {
  const here = position.peek();
  const list = listing.peek();
  const row = rowHere.peek();
  if (here === null || list === null || row === null) {
    const { sample } = place.peek();
    if (sample !== null) wish = { sample, by: difference + (wish?.sample === sample ? wish.by : 0) };
    return;
  }
  const at = here + difference;
  if (at < 0 || at >= list.total) return;
  // Samples of a group stand together, so that the next one is in this row or in one beside it.
  if (list.mode !== "groups") await goToRow(at);
  else if (idAt(list, at) !== undefined) go({ sample: idAt(list, at) ?? null });
  else await goToRow(row + Math.sign(difference), difference < 0);
}

/** What was read when the list was narrowed. The first sample of the list takes its place where the list has not got it. */
let narrowed: { sample: string; where: string } | null = null;

export function keepIfHeld(sample: string | null, where: string): void {
  narrowed = sample === null ? null : { sample, where };
}

/** Go to a row: to its sample, or to the first one of its group, or the last. */
export async function goToRow(row: number, atEnd = false): Promise<void> {
  const list = listing.peek();
  if (list === null || row < 0 || row >= list.rows) return;
  await need(Math.floor(row / PAGE));
  const now = listing.peek();
  if (now === null || now.key !== list.key) return;
  const group = now.groups.get(Math.floor(row / PAGE))?.[row % PAGE];
  const id = atEnd && group !== undefined ? group.prefix + (group.members.at(-1) ?? "") : idOfRow(now, row);
  if (id !== undefined) go({ sample: id });
}

/** Go to the first sample of the list. */
export function goFirst(list: Listing): void {
  const first = idOfRow(list, 0);
  if (first === undefined) void need(0);
  else go({ sample: first }, "replace");
}

export function startList(): void {
  effect(() => {
    const of = scope.value;
    wish = null;
    if (of !== null && isRunKnown.value) untracked(() => void show(of, false));
  });
  effect(() => {
    const isKnown = position.value !== null;
    const { sample } = place.value;
    if (wish === null || (wish.sample === sample && !isKnown)) return;
    const { sample: of, by } = wish;
    wish = null;
    if (of === sample) untracked(() => void goOn(by));
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
  if (known !== undefined) listingError.value = null;
  if (!isAsked && known !== undefined && known.version === run.peek()?.version) return;
  try {
    const list = await kept.renew(key, () => loadList(of, place.peek().sample ?? undefined));
    if (keyOf(scope.peek() ?? of) !== key) return;
    listingError.value = null;
    listing.value = list;
  } catch (error) {
    if (keyOf(scope.peek() ?? of) === key) listingError.value = asApiError(error);
  }
}

async function find(list: Listing, sample: string): Promise<void> {
  const isAnswered = await add(list, sample, () => pageOf(list.scope, list.mode, 0, sample));
  const now = listing.peek();
  if (position.peek() !== null || now === null) return;
  if (wish?.sample === sample) wish = null; // the list has not got it
  if (!isAnswered || now.key !== list.key || narrowed?.sample !== sample || narrowed.where !== now.scope.where) return;
  narrowed = null;
  if (place.peek().sample === sample && !isBehind.peek()) goFirst(now);
}

/**
 * Add a page to a list that is still shown. Nothing is asked for twice of one list: the page around a sample may lack
 * it, and would be asked for without end. A page of another moment means that the list has moved: load it anew.
 * True where it was added.
 */
async function add(list: Listing, what: string, fetched: () => Promise<Page>): Promise<boolean> {
  if (list.asked.has(what)) return false;
  list.asked.add(what);
  try {
    const page = await fetched();
    const now = listing.peek();
    if (now?.key !== list.key) return false;
    if (!fits(now, page)) {
      await reload();
      return false;
    }
    const grown = { ...now, ...added(now, page, Math.floor((rowHere.peek() ?? -1) / PAGE)) };
    const isGone = (one: number): boolean => !grown.pages.has(one) && !grown.groups.has(one);
    if ([...now.pages.keys(), ...now.groups.keys()].some(isGone)) now.asked.clear(); // what went may be asked for again
    kept.put(now.key, grown);
    listing.value = grown;
    if (!isBehind.peek()) listingError.value = null;
    return true;
  } catch (error) {
    list.asked.delete(what);
    if (listing.peek()?.key === list.key && !isBehind.peek()) listingError.value = asApiError(error);
    return false;
  }
}
