/** Moves from sample to sample in the order of the list, even before the list knows their places. */

import { computed, untracked } from "@preact/signals";
import type { GroupItem } from "../../api/types.gen";
import { lastSample } from "../browser/lastSamples";
import { sampleMark } from "../marks";
import { Store } from "../store";
import { isEmpty } from "../../lib/marks";
import { finite } from "../../lib/numbers/numbers";
import { groupAt, groupIds, itemAt, type Listing, type ListStore, rowOf } from "./list";
import { PAGE } from "./pages";

export class BrowseStore extends Store {
  get #list(): ListStore {
    return this.session.list;
  }

  /** The group of the open sample, if the list has groups. */
  readonly groupHere = computed<GroupItem | null>(() =>
    this.#list.now.value?.mode === "groups" && this.#list.rowHere.value !== null
      ? (groupAt(this.#list.now.value, this.#list.rowHere.value) ?? null)
      : null,
  );

  /**
   * The place of a sample among those that a reader browses: its group, if the list shows whole groups one after
   * another, otherwise the list. Null while the list does not know it.
   */
  placeOf(id: string): { at: number; of: number } | null {
    const list = this.#list.now.value;
    const here = this.#list.places.value.get(id);
    if (list === null || here === undefined) return null;
    const isWhole = list.scope.sort === "index" && list.scope.where === "" && !list.scope.discarded;
    const group = isWhole && list.mode === "groups" ? groupAt(list, rowOf(list, here) ?? -1) : undefined;
    return group === undefined ? { at: here + 1, of: list.total } : { at: here - group.first + 1, of: group.samples };
  }

  /** A move that waits until the list knows the place of the sample. */
  #wish: { sample: string; by: number } | null = null;

  /** Move by a number of samples in the order of the list. */
  async goOn(difference: number): Promise<void> {
    const here = this.#list.position.peek();
    const list = this.#list.now.peek();
    const row = this.#list.rowHere.peek();
    if (here === null || list === null || row === null) {
      const { sample } = this.session.place.now.peek();
      if (sample !== null)
        this.#wish = { sample, by: difference + (this.#wish?.sample === sample ? this.#wish.by : 0) };
      return;
    }
    const at = here + difference;
    if (at < 0 || at >= list.total) return;
    // Samples of a group are adjacent, so the next one is in this row or a neighbouring row.
    if (list.mode !== "groups") await this.goToRow(at);
    else if (idAt(list, at) !== undefined) this.session.place.go({ sample: idAt(list, at) ?? null });
    else await this.goToRow(row + Math.sign(difference), difference < 0);
  }

  /**
   * The sample that was open when the reader narrowed the list. If the list lacks it, the first sample replaces it.
   */
  #narrowed: { sample: string; where: string } | null = null;

  keepIfHeld(sample: string | null, where: string): void {
    this.#narrowed = sample === null ? null : { sample, where };
  }

  /** Go to a row: to its sample, or to the first or last sample of its group. */
  async goToRow(row: number, atEnd = false): Promise<void> {
    const list = this.#list.now.peek();
    if (list === null || row < 0 || row >= list.rows) return;
    await this.#list.need(Math.floor(row / PAGE));
    const now = this.#list.now.peek();
    if (now === null || now.key !== list.key) return;
    const group = now.groups.get(Math.floor(row / PAGE))?.[row % PAGE];
    const id = atEnd && group !== undefined ? group.prefix + (group.members.at(-1) ?? "") : idOfRow(now, row);
    if (id !== undefined) this.session.place.go({ sample: id });
  }

  /**
   * The sample that the page opened by itself, and in which list. If the list loses it, as when the index learns that
   * it was discarded, another one replaces it; a sample that the reader chose, marked or writes a note on stays.
   */
  #opened: { sample: string; key: string } | null = null;

  #open(sample: string, { key }: Listing): void {
    this.#opened = { sample, key };
    this.session.place.go({ sample }, "replace");
  }

  /** Stay on the open sample, even if the page opened it by itself. */
  stay(): void {
    this.#opened = null;
  }

  /** Go to the first sample of the list. */
  goFirst(list: Listing): void {
    const first = idOfRow(list, 0);
    if (first === undefined) void this.#list.need(0);
    else this.#open(first, list);
  }

  /** Open a run: on the sample that the person saw last, if the list has it, or on the one that differs most. */
  goOpening(list: Listing): void {
    const { run, where, sort, descending, discarded } = list.scope;
    const last = lastSample(run);
    const isPlain = where === "" && sort === "index" && !descending && !discarded;
    const sample = last !== undefined && this.#list.places.peek().has(last) ? last : mostDifferent(list);
    if (isPlain && sample !== undefined) this.#open(sample, list);
    else this.goFirst(list);
  }

  start(): void {
    this.effect(() => {
      void this.#list.scope.value;
      this.#wish = null;
    });
    this.effect(() => {
      const isKnown = this.#list.position.value !== null;
      const { sample } = this.session.place.now.value;
      if (this.#wish === null || (this.#wish.sample === sample && !isKnown)) return;
      const { sample: of, by } = this.#wish;
      this.#wish = null;
      if (of === sample) untracked(() => void this.goOn(by));
    });
    this.effect(() => {
      const list = this.#list.now.value;
      const { sample } = this.session.place.now.value;
      if (this.#opened?.sample !== sample) this.#opened = null; // the reader has chosen since
      if (list === null || sample === null || this.#list.isBehind.value || this.#list.places.value.has(sample)) return;
      untracked(() => void this.#find(list, sample));
    });
  }

  async #find(list: Listing, sample: string): Promise<void> {
    const isAnswered = await this.#list.find(list, sample);
    const now = this.#list.now.peek();
    if (this.#list.position.peek() !== null || now === null) return;
    if (this.#wish?.sample === sample) this.#wish = null; // the list lacks it
    const isNarrowed = this.#narrowed?.sample === sample && this.#narrowed.where === now.scope.where;
    const isMarked = !isEmpty(sampleMark(list.scope.run, sample));
    const isOpened = !isMarked && this.#opened?.sample === sample && this.#opened.key === now.key;
    if (!isAnswered || now.key !== list.key || !(isNarrowed || isOpened)) return;
    this.#narrowed = null;
    if (this.session.place.now.peek().sample !== sample || this.#list.isBehind.peek()) return;
    if (isOpened) this.goOpening(now);
    else this.goFirst(now);
  }
}

/** The id of the sample at a place, if known. The list does not know the last samples of large groups. */
export function idAt(list: Listing, at: number): string | undefined {
  if (list.mode !== "groups") return itemAt(list, at)?.id;
  const group = groupAt(list, rowOf(list, at) ?? -1);
  const member = group?.members[at - group.first];
  return group === undefined || member === undefined ? undefined : group.prefix + member;
}

/**
 * The sample that differs most from its siblings: of the first page's groups, in the one with the largest spread of
 * rewards, the one whose reward is farthest from the mean; of several, the first. Undefined if no rewards differ.
 */
export function mostDifferent({ groups, columns }: Listing): string | undefined {
  const spreadOf = (group: GroupItem): number => finite(group.reward_std) ?? 0;
  const widest = (groups.get(0) ?? []).reduce<GroupItem | null>(
    (best, group) => (spreadOf(group) > (best === null ? 0 : spreadOf(best)) ? group : best),
    null,
  );
  if (widest === null) return undefined;
  const mean = finite(widest.reward_mean) ?? 0;
  const away = (widest.cells[columns.indexOf("reward")] ?? []).map((value) => Math.abs((finite(value) ?? mean) - mean));
  const most = away.reduce((best, distance, at) => (distance > (away[best] ?? 0) + ALIKE ? at : best), 0);
  return groupIds(widest)[most];
}

/** Distances that differ by less are equal but for rounding. */
const ALIKE = 1e-9;

/** The first sample of a row, if known. */
export function idOfRow(list: Listing, row: number): string | undefined {
  if (list.mode !== "groups") return itemAt(list, row)?.id;
  const group = groupAt(list, row);
  return group === undefined ? undefined : groupIds(group)[0];
}
