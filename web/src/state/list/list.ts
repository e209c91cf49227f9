/** The list of what is in the scope: the pages of it that were looked at. It changes only when it is asked to. */

import { computed, signal, untracked } from "@preact/signals";
import type { ApiError } from "../../api";
import type { GroupItem, SampleItem } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import {
  groupAt,
  idAt,
  idOfRow,
  itemAt,
  keyOf,
  type Listing,
  PAGE,
  placesOf,
  rowOf,
  type Scope,
  scopeAt as scopeOf,
} from "../../lib/list/listing";
import { Lru } from "../../lib/data/lru";
import { added, fits, isAlike, type Page, pageOf } from "./loadList";
import { asApiError } from "../browser/login";
import { Store } from "../store";

export { itemAt, type Listing, PAGE, type Scope } from "../../lib/list/listing";

/** Pages of all lists that are kept. */
const KEPT_PAGES = 120;

export class ListStore extends Store {
  readonly #kept = new Lru<Listing>(KEPT_PAGES, ({ pages, groups }) => pages.size + groups.size);

  readonly now = signal<Listing | null>(null);

  readonly error = signal<ApiError | null>(null);

  readonly scopeAt = (at: Place): Scope | null => scopeOf(at, this.session.view.shownColumns.peek());

  /** What the address asks for; null where it leaves that open. One value for as long as that is the same. */
  readonly #scopeKey = computed(() =>
    JSON.stringify(scopeOf(this.session.place.now.value, this.session.view.shownColumns.value)),
  );

  readonly scope = computed<Scope | null>(() => JSON.parse(this.#scopeKey.value) as Scope | null);

  /** What changes in a run must not move the list, so this is all of it that the list looks at. */
  readonly #isRunKnown = computed(() => this.session.run.now.value !== null);

  /** True while the list shows something else than what the address asks for. */
  readonly isBehind = computed(() => this.scope.value !== null && this.now.value?.key !== keyOf(this.scope.value));

  /** Places of the samples in the list, as far as they are known. */
  readonly #places = computed(() => (this.now.value === null ? new Map<string, number>() : placesOf(this.now.value)));

  /** The place of the sample that is looked at; null where it is not known. */
  readonly position = computed<number | null>(() => {
    const { sample } = this.session.place.now.value;
    return sample === null ? null : (this.#places.value.get(sample) ?? null);
  });

  /** The row of the sample that is looked at; null where it is not known. */
  readonly rowHere = computed<number | null>(() => {
    const list = this.now.value;
    return list === null || this.position.value === null ? null : rowOf(list, this.position.value);
  });

  /** The group of the sample that is looked at, where the list is of groups. */
  readonly groupHere = computed<GroupItem | null>(() =>
    this.now.value?.mode === "groups" && this.rowHere.value !== null
      ? (groupAt(this.now.value, this.rowHere.value) ?? null)
      : null,
  );

  /** The list's knowledge of a sample. */
  itemOf(id: string): SampleItem | null {
    const at = this.#places.value.get(id);
    return at === undefined ? null : (itemAt(this.now.value, at) ?? null);
  }

  /** A list, from memory or from the server. */
  async listOf(of: Scope, around?: string | undefined): Promise<Listing> {
    return this.#kept.get(keyOf(of), () => this.session.lists.load(of, around));
  }

  /** Bring the list up to date. */
  async reload(): Promise<void> {
    const of = this.scope.peek();
    if (of !== null) await this.#show(of, true);
  }

  /**
   * Look whether the list still says what it said, though its step has another stamp: what is learned of samples later
   * may be of any step. Where it does, the list takes that stamp.
   */
  async confirm(): Promise<void> {
    const list = this.now.peek();
    if (list === null) return;
    const fresh = await this.session.lists.load(list.scope, this.session.place.now.peek().sample ?? undefined);
    if (this.now.peek() !== list || !isAlike(list, fresh)) return;
    const now = { ...list, stamp: fresh.stamp };
    this.#kept.put(list.key, now);
    this.now.value = now;
  }

  forget(): void {
    this.#kept.clear();
    this.session.lists.forget();
  }

  /** Fetch a page of rows, where it is missing. */
  async need(page: number): Promise<void> {
    const list = this.now.peek();
    if (list === null || list.pages.has(page) || list.groups.has(page) || page < 0 || page * PAGE >= list.rows) return;
    await this.#add(list, `page ${page}`, () => pageOf(list.scope, list.mode, page));
  }

  /** A wish to go on that came before the list knew where the sample stands. It is granted once the list does. */
  #wish: { sample: string; by: number } | null = null;

  /** Go so many samples on in the order of the list. */
  async goOn(difference: number): Promise<void> {
    const here = this.position.peek();
    const list = this.now.peek();
    const row = this.rowHere.peek();
    if (here === null || list === null || row === null) {
      const { sample } = this.session.place.now.peek();
      if (sample !== null)
        this.#wish = { sample, by: difference + (this.#wish?.sample === sample ? this.#wish.by : 0) };
      return;
    }
    const at = here + difference;
    if (at < 0 || at >= list.total) return;
    // Samples of a group stand together, so that the next one is in this row or in one beside it.
    if (list.mode !== "groups") await this.goToRow(at);
    else if (idAt(list, at) !== undefined) this.session.place.go({ sample: idAt(list, at) ?? null });
    else await this.goToRow(row + Math.sign(difference), difference < 0);
  }

  /**
   * What was read when the list was narrowed. The first sample of the list takes its place where the list has not got it.
   */
  #narrowed: { sample: string; where: string } | null = null;

  keepIfHeld(sample: string | null, where: string): void {
    this.#narrowed = sample === null ? null : { sample, where };
  }

  /** Go to a row: to its sample, or to the first one of its group, or the last. */
  async goToRow(row: number, atEnd = false): Promise<void> {
    const list = this.now.peek();
    if (list === null || row < 0 || row >= list.rows) return;
    await this.need(Math.floor(row / PAGE));
    const now = this.now.peek();
    if (now === null || now.key !== list.key) return;
    const group = now.groups.get(Math.floor(row / PAGE))?.[row % PAGE];
    const id = atEnd && group !== undefined ? group.prefix + (group.members.at(-1) ?? "") : idOfRow(now, row);
    if (id !== undefined) this.session.place.go({ sample: id });
  }

  /** Go to the first sample of the list. */
  goFirst(list: Listing): void {
    const first = idOfRow(list, 0);
    if (first === undefined) void this.need(0);
    else this.session.place.go({ sample: first }, "replace");
  }

  start(): void {
    this.effect(() => {
      const of = this.scope.value;
      this.#wish = null;
      if (of !== null && this.#isRunKnown.value) untracked(() => void this.#show(of, false));
    });
    this.effect(() => {
      const isKnown = this.position.value !== null;
      const { sample } = this.session.place.now.value;
      if (this.#wish === null || (this.#wish.sample === sample && !isKnown)) return;
      const { sample: of, by } = this.#wish;
      this.#wish = null;
      if (of === sample) untracked(() => void this.goOn(by));
    });
    this.effect(() => {
      const list = this.now.value;
      const { sample } = this.session.place.now.value;
      if (list === null || sample === null || this.isBehind.value || this.#places.value.has(sample)) return;
      untracked(() => void this.#find(list, sample));
    });
  }

  async #show(of: Scope, isAsked: boolean): Promise<void> {
    const key = keyOf(of);
    const known = this.#kept.peek(key);
    if (known !== undefined && this.now.peek()?.key !== key) this.now.value = known;
    if (known !== undefined) this.error.value = null;
    if (!isAsked && known !== undefined && known.version === this.session.run.now.peek()?.version) return;
    try {
      const list = await this.#kept.renew(key, () =>
        this.session.lists.load(of, this.session.place.now.peek().sample ?? undefined),
      );
      if (keyOf(this.scope.peek() ?? of) !== key) return;
      this.error.value = null;
      this.now.value = list;
    } catch (error) {
      if (keyOf(this.scope.peek() ?? of) === key) this.error.value = asApiError(error);
    }
  }

  async #find(list: Listing, sample: string): Promise<void> {
    const isAnswered = await this.#add(list, sample, () => pageOf(list.scope, list.mode, 0, sample));
    const now = this.now.peek();
    if (this.position.peek() !== null || now === null) return;
    if (this.#wish?.sample === sample) this.#wish = null; // the list has not got it
    if (
      !isAnswered ||
      now.key !== list.key ||
      this.#narrowed?.sample !== sample ||
      this.#narrowed.where !== now.scope.where
    )
      return;
    this.#narrowed = null;
    if (this.session.place.now.peek().sample === sample && !this.isBehind.peek()) this.goFirst(now);
  }

  /**
   * Add a page to a list that is still shown. Nothing is asked for twice of one list: the page around a sample may lack
   * it, and would be asked for without end. A page of another moment means that the list has moved: load it anew.
   * True where it was added.
   */
  async #add(list: Listing, what: string, fetched: () => Promise<Page>): Promise<boolean> {
    if (list.asked.has(what)) return false;
    list.asked.add(what);
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
      if ([...now.pages.keys(), ...now.groups.keys()].some(isGone)) now.asked.clear(); // what went may be asked for again
      this.#kept.put(now.key, grown);
      this.now.value = grown;
      if (!this.isBehind.peek()) this.error.value = null;
      return true;
    } catch (error) {
      list.asked.delete(what);
      if (this.now.peek()?.key === list.key && !this.isBehind.peek()) this.error.value = asApiError(error);
      return false;
    }
  }
}
