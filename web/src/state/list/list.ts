/** The list of the scope: the pages that the reader has seen. It changes only on request. */

import { computed, signal, untracked } from "@preact/signals";
import type { ApiError } from "../../api";
import type { GroupItem, SampleItem, SamplesReply } from "../../api/types.gen";
import type { Mode, Place } from "../../lib/address/address";
import { Lru } from "../../lib/data/lru";
import { keyOf, type Scope, scopeAt as scopeOf } from "../../lib/list/scope";
import { asApiError } from "../browser/login";
import { Store } from "../store";
import { PAGE, type Page } from "./pages";

const KEPT_PAGES = 120; // of all cached lists together

export interface Listing extends Pick<SamplesReply, "pending" | "discarded" | "reasons"> {
  scope: Scope;
  key: string;
  version: string;
  mode: Mode;
  /** The columns of the rows, in the order of their values. */
  columns: readonly string[];
  /** The number of samples that match the filter, and of all in the scope. */
  total: number;
  of: number;
  /** Rows of the list: groups or samples. */
  rows: number;
  pages: ReadonlyMap<number, readonly SampleItem[]>;
  groups: ReadonlyMap<number, readonly GroupItem[]>;
  /** The requested pages of this list: a Set of its own, as each list is a new object. */
  requests: Set<string>;
  /** Changes with the samples of the step; 0 for several steps. */
  stamp: number;
  /** True if a sample has a status in the page that was loaded first: other pages must not add a column. */
  hasStatus: boolean;
}

/** The most pages that a list keeps: a reader who scrolls through millions of rows looks at few of them. */
export const MOST_PAGES = 60;

export class ListStore extends Store {
  readonly #kept = new Lru<Listing>(KEPT_PAGES, ({ pages, groups }) => pages.size + groups.size);

  readonly now = signal<Listing | null>(null);

  readonly error = signal<ApiError | null>(null);

  readonly scopeAt = (at: Place): Scope | null => scopeOf(at, this.session.view.shownColumns.peek());

  /**
   * The splits that have shown a group of several samples, so that a step that has just begun keeps the list of groups.
   */
  readonly #grouped = new Set<string>();

  /** The scope of the address; null if it names none. The same object as long as the scope is the same. */
  readonly #scopeKey = computed(() =>
    JSON.stringify(scopeOf(this.session.place.now.value, this.session.view.shownColumns.value)),
  );

  readonly scope = computed<Scope | null>(() => JSON.parse(this.#scopeKey.value) as Scope | null);

  /** The list depends only on this, because changes of a run must not move it. */
  readonly #isRunKnown = computed(() => this.session.run.now.value !== null);

  /** True while the scope of the list differs from that of the address. */
  readonly isBehind = computed(() => this.scope.value !== null && this.now.value?.key !== keyOf(this.scope.value));

  /** The known places of samples in the list. */
  readonly places = computed(() => (this.now.value === null ? new Map<string, number>() : placesOf(this.now.value)));

  /** The place of the open sample; null if unknown. */
  readonly position = computed<number | null>(() => {
    const { sample } = this.session.place.now.value;
    return sample === null ? null : (this.places.value.get(sample) ?? null);
  });

  /** The row of the open sample; null if unknown. */
  readonly rowHere = computed<number | null>(() => {
    const list = this.now.value;
    return list === null || this.position.value === null ? null : rowOf(list, this.position.value);
  });

  /** The list's knowledge of a sample. */
  itemOf(id: string): SampleItem | null {
    return itemAt(this.now.value, this.places.value.get(id) ?? -1) ?? null;
  }

  /** A list, from memory or from the server. */
  async listOf(of: Scope, around?: string | undefined): Promise<Listing> {
    return this.#kept.get(keyOf(of), () => this.#load(of, around));
  }

  /** Bring the list up to date. */
  async reload(): Promise<void> {
    const of = this.scope.peek();
    if (of !== null) await this.#show(of, true);
  }

  /** Fetch the list again after its stamp has changed; an unchanged list takes the new stamp. */
  async confirm(): Promise<void> {
    const list = this.now.peek();
    if (list === null) return;
    const fresh = await this.#load(list.scope, this.session.place.now.peek().sample ?? undefined);
    if (this.now.peek() !== list || contentsOf(fresh) !== contentsOf(list)) return;
    const now = { ...list, stamp: fresh.stamp };
    this.#kept.put(list.key, now);
    this.now.value = now;
  }

  forget(): void {
    this.#kept.clear();
    this.#grouped.clear();
  }

  /** Fetch a page of rows, if it is missing. */
  async need(page: number): Promise<void> {
    const list = this.now.peek();
    if (list === null || list.pages.has(page) || list.groups.has(page) || page < 0 || page * PAGE >= list.rows) return;
    await this.#add(list, `page ${page}`, () => this.session.pages.ask(list.scope, list.mode, page));
  }

  /** Fetch the page around a sample. True if the list has it now. */
  async find(list: Listing, sample: string): Promise<boolean> {
    return this.#add(list, sample, () => this.session.pages.ask(list.scope, list.mode, 0, sample));
  }

  start(): void {
    this.effect(() => {
      const of = this.scope.value;
      if (of !== null && this.#isRunKnown.value) untracked(() => void this.#show(of, false));
    });
    this.effect(() => {
      if (this.session.run.now.value?.splits.length === 0) this.now.value = null; // the list of the run before
    });
  }

  async #load(of: Scope, around: string | undefined): Promise<Listing> {
    const first = await this.session.pages.ask(of, of.mode ?? "groups", 0, around);
    const split = JSON.stringify([of.run, of.split]);
    if (first.kind === "groups" && first.reply.total < first.reply.samples) this.#grouped.add(split);
    // If no group has a second sample, groups say nothing that samples do not.
    const isAlone = first.kind === "groups" && of.mode === null && of.where === "" && !this.#grouped.has(split);
    return listed(of, isAlone ? await this.session.pages.ask(of, "samples", 0, around) : first);
  }

  async #show(of: Scope, isAsked: boolean): Promise<void> {
    const key = keyOf(of);
    const isWanted = () => this.session.place.now.peek().run === of.run && keyOf(this.scope.peek() ?? of) === key;
    const cached = this.#kept.peek(key);
    if (cached !== undefined && this.now.peek()?.key !== key) this.now.value = cached;
    if (cached !== undefined) this.error.value = null;
    if (!isAsked && cached !== undefined && cached.version === this.session.run.now.peek()?.version) return;
    try {
      const list = await this.#kept.renew(key, () => this.#load(of, this.session.place.now.peek().sample ?? undefined));
      if (!isWanted()) return;
      this.error.value = null;
      this.now.value = list;
    } catch (error) {
      if (isWanted()) this.error.value = asApiError(error);
    }
  }

  /**
   * Add a page to the list while it is still shown; true if it was added. A list never requests a page twice, or a page
   * that lacks the sample it was requested for would be requested forever. A page of another moment means that the list
   * has moved: load it again.
   */
  async #add(list: Listing, what: string, fetched: () => Promise<Page>): Promise<boolean> {
    if (list.requests.has(what)) return false;
    list.requests.add(what);
    try {
      const page = await fetched();
      const now = this.now.peek();
      if (now?.key !== list.key) return false;
      if (!fits(now, page)) {
        await this.reload();
        return false;
      }
      const grown = { ...now, ...added(now, page, Math.floor((this.rowHere.peek() ?? -1) / PAGE)) };
      const isGone = (one: number): boolean => !grown.pages.has(one) && !grown.groups.has(one);
      if ([...now.pages.keys(), ...now.groups.keys()].some(isGone)) now.requests.clear(); // may be requested again
      this.#kept.put(now.key, grown);
      this.now.value = grown;
      if (!this.isBehind.peek()) this.error.value = null;
      return true;
    } catch (error) {
      list.requests.delete(what);
      if (this.now.peek()?.key === list.key && !this.isBehind.peek()) this.error.value = asApiError(error);
      return false;
    }
  }
}

function listed(of: Scope, page: Page): Listing {
  const { version, of: all, stamp, total, pending, discarded, reasons } = page.reply;
  const isGroups = page.kind === "groups";
  const bare: Listing = {
    scope: of,
    key: keyOf(of),
    version,
    mode: isGroups ? "groups" : of.mode === "table" ? "table" : "samples",
    columns: isGroups ? page.reply.columns : of.columns,
    total: isGroups ? page.reply.samples : total,
    of: all,
    rows: total,
    pages: new Map(),
    groups: new Map(),
    requests: new Set(),
    stamp,
    pending,
    discarded,
    reasons,
    hasStatus: !isGroups && page.reply.samples.some(({ status }) => status !== "unknown"),
  };
  return { ...bare, ...added(bare, page) };
}

/** The pages of a list and one more. If there are too many, drops the furthest page, but never `stays`. */
function added(list: Listing, { kind, reply }: Page, stays = -1): Pick<Listing, "pages" | "groups"> {
  const at = Math.floor(reply.offset / PAGE);
  if (kind === "groups")
    return { pages: list.pages, groups: near(new Map(list.groups).set(at, reply.groups), at, stays) };
  return { pages: near(new Map(list.pages).set(at, reply.samples), at, stays), groups: list.groups };
}

function near<T>(pages: Map<number, T>, at: number, stays: number): Map<number, T> {
  const furthest = [...pages.keys()]
    .filter((page) => page !== stays)
    .toSorted((a, b) => Math.abs(b - at) - Math.abs(a - at));
  for (const page of furthest.slice(0, Math.max(0, pages.size - MOST_PAGES))) pages.delete(page);
  return pages;
}

/** The contents of a list: equal for two lists with the same samples in the same pages. */
const contentsOf = ({ total, of, rows, columns, pages, groups }: Listing): string =>
  JSON.stringify([total, of, rows, columns, [...pages], [...groups]]);

/** True if a page belongs to the same list: the trainer has not rewritten the step, and its numbers are the same. */
function fits(list: Listing, { kind, reply }: Page): boolean {
  if (reply.stamp !== list.stamp || reply.total !== list.rows) return false;
  return kind === "samples" || (reply.samples === list.total && reply.columns.join("\n") === list.columns.join("\n"));
}

export const groupIds = (group: GroupItem): string[] => group.members.map((member) => group.prefix + member);

/** The place of each sample that is known, in the order of the list. */
function placesOf(list: Listing): Map<string, number> {
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

/** The row with the sample at a place; null if unknown. */
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
