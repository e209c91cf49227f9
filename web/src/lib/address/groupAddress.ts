/** What of an address says how a group stands together: its part of `lib/address/address.ts`. */

export interface GroupView {
  /** In the view of a group: a table of its samples, in place of columns. */
  isTable: boolean;
  /** The sample that the others of its group are compared with; null for the best. */
  against: string | null;
  /** The words in which that one and the sample differ, in place of all answers. */
  isDiff: boolean;
  /** The samples of the group that stand side by side; none for all. */
  only: readonly string[];
}

export const WHOLE_GROUP: GroupView = { isTable: false, against: null, isDiff: false, only: [] };

/** More samples than these are not chosen out of a group: an address has an end. */
export const MAX_ONLY = 64;

/** The id of a sample without what tells it from others of its group. */
export const groupOf = (id: string): string => id.slice(0, id.lastIndexOf("/"));

export function readGroupView(given: URLSearchParams): GroupView {
  return {
    isTable: given.get("as") === "table",
    against: given.get("against") || null,
    isDiff: given.get("diff") === "1",
    only: [...new Set(given.getAll("only"))].filter((id) => id !== "").slice(0, MAX_ONLY),
  };
}

export function writeGroupView({ isTable, against, isDiff, only }: GroupView, query: URLSearchParams): void {
  if (isTable) query.set("as", "table");
  if (against !== null) query.set("against", against);
  if (isDiff) query.set("diff", "1");
  for (const id of only) query.append("only", id);
}

/** What of it still holds for another sample: what is of its group, and a choice that it is one of. */
export function groupViewFor(sample: string, { isTable, against, isDiff, only }: GroupView): GroupView {
  const current = (id: string): boolean => groupOf(id) === groupOf(sample);
  return {
    isTable,
    isDiff,
    against: against !== null && current(against) ? against : null,
    only: only.includes(sample) ? only.filter(current) : [],
  };
}
