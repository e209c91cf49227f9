/** How an address describes the view of a group: its part of `lib/address/address.ts`. */

export interface GroupView {
  /** In the view of a group: a table of its samples instead of columns. */
  isTable: boolean;
  /** The sample to compare the others with; null for the best. */
  against: string | null;
  /** Shows the words that differ between that sample and the current one, instead of all answers. */
  isDiff: boolean;
  /** The samples of the group to show side by side; empty for all. */
  only: readonly string[];
}

export const WHOLE_GROUP: GroupView = { isTable: false, against: null, isDiff: false, only: [] };

/** The most samples to choose from a group, as addresses have a limited length. */
export const MAX_ONLY = 64;

/** The part of a sample's id that it shares with its group. */
export const groupOf = (id: string): string => id.slice(0, id.lastIndexOf("/"));

export function readGroupView(params: URLSearchParams): GroupView {
  return {
    isTable: params.get("as") === "table",
    against: params.get("against") || null,
    isDiff: params.get("diff") === "1",
    only: [...new Set(params.getAll("only"))].filter((id) => id !== "").slice(0, MAX_ONLY),
  };
}

export function writeGroupView(place: GroupView & { view: string }, query: URLSearchParams): void {
  const { view, isTable, against, isDiff, only } = place;
  if (view !== "group") return;
  if (isTable) query.set("as", "table");
  if (against !== null) query.set("against", against);
  if (isDiff) query.set("diff", "1");
  for (const id of only) query.append("only", id);
}

/** The options that stay valid for another sample: those of the same group, and a choice that includes it. */
export function groupViewFor(sample: string, { isTable, against, isDiff, only }: GroupView): GroupView {
  const current = (id: string): boolean => groupOf(id) === groupOf(sample);
  return {
    isTable,
    isDiff,
    against: against !== null && current(against) ? against : null,
    only: only.includes(sample) ? only.filter(current) : [],
  };
}
