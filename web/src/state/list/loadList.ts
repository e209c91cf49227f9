/** Lists as they come from the server: the first page of one, and any other. */

import { getGroups, getSamples } from "../../api";
import type { GroupsReply, SamplesReply } from "../../api/types.gen";
import { keyOf, type Listing, MOST_PAGES, PAGE, type Scope } from "../../lib/list/listing";
import { Store } from "../store";

export type Page = { kind: "groups"; reply: GroupsReply } | { kind: "samples"; reply: SamplesReply };

/** What the server is asked for a list, its pages aside. */
export function queryOf(of: Scope) {
  const { split, sort, descending } = of;
  return {
    split,
    step: of.step ?? undefined,
    step_min: of.low ?? undefined,
    step_max: of.high ?? undefined,
    where: of.where.trim() === "" ? undefined : of.where,
    sort,
    descending,
    trained: !of.discarded,
    column: of.columns,
  };
}

/** One page of rows; with `around` the one in which that sample stands. */
export async function pageOf(of: Scope, mode: Listing["mode"], page: number, around?: string): Promise<Page> {
  const query = { ...queryOf(of), offset: page * PAGE, limit: PAGE, around };
  return mode === "groups"
    ? { kind: "groups", reply: await getGroups(of.run, { ...query, usual: of.usual || undefined }) }
    : { kind: "samples", reply: await getSamples(of.run, query) };
}

function listed(of: Scope, page: Page): Listing {
  const { version, of: all, stamp, total } = page.reply;
  const isGroups = page.kind === "groups";
  const mode = isGroups ? "groups" : of.mode === "table" ? "table" : "samples";
  const samples = isGroups ? page.reply.samples : total;
  const bare: Listing = {
    scope: of,
    key: keyOf(of),
    version,
    mode,
    columns: isGroups ? page.reply.columns : of.columns,
    total: samples,
    of: all,
    rows: total,
    pages: new Map(),
    groups: new Map(),
    asked: new Set(),
    stamp,
    pending: page.reply.pending,
  };
  return { ...bare, ...added(bare, page) };
}

/** The pages of a list with one more. Of too many those go that are furthest from it, but for the one that `stays`. */
export function added(list: Listing, { kind, reply }: Page, stays = -1): Pick<Listing, "pages" | "groups"> {
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

/** True where two lists hold the same, in the same pages. */
export function isAlike(one: Listing, other: Listing): boolean {
  const current = ({ total, of, rows, columns, pages, groups }: Listing): string =>
    JSON.stringify([total, of, rows, columns, [...pages], [...groups]]);
  return current(one) === current(other);
}

/**
 * True where a page is of the same list, and not of what has become of it meanwhile: of a step that was written again,
 * or whose samples have other numbers, too.
 */
export function fits(list: Listing, { kind, reply }: Page): boolean {
  if (reply.stamp !== list.stamp || reply.total !== list.rows) return false;
  return kind === "samples" || (reply.samples === list.total && reply.columns.join("\n") === list.columns.join("\n"));
}

export class ListLoader extends Store {
  /** Splits of which a group was seen that has more samples than one: a step that begins is no other kind of step. */
  readonly #grouped = new Set<string>();

  forget(): void {
    this.#grouped.clear();
  }

  async load(of: Scope, around: string | undefined): Promise<Listing> {
    const first = await pageOf(of, of.mode ?? "groups", 0, around);
    const split = JSON.stringify([of.run, of.split]);
    if (first.kind === "groups" && first.reply.total < first.reply.samples) this.#grouped.add(split);
    // Where no group has a second sample, groups say nothing that samples do not.
    const isAlone = first.kind === "groups" && of.mode === null && of.where === "" && !this.#grouped.has(split);
    return listed(of, isAlone ? await pageOf(of, "samples", 0, around) : first);
  }
}
