/** The rows of the list of samples: which row is a group's heading, which one is which sample. */

import type { GroupItem } from "../api/types.gen";

export type Row = { kind: "group"; group: GroupItem } | { kind: "sample"; place: number };

/** Rows of a step's list. Places are those in the order of the list, from 0. */
export interface Rows {
  length: number;
  /** What stands in a row. */
  at(row: number): Row;
  /** The row in which a sample stands. */
  rowOf(place: number): number;
}

/** A heading before each group, in the order given; `total` samples there are in all. */
export function groupedRows(groups: readonly GroupItem[], total: number): Rows {
  const heads: number[] = [];
  const firsts: number[] = [];
  let first = 0;
  for (const group of groups) {
    heads.push(first + heads.length);
    firsts.push(first);
    first += group.samples;
  }
  const length = Math.max(total, first) + groups.length;
  return {
    length,
    at(row) {
      const index = lastAtMost(heads, row);
      const group = groups[index];
      if (group !== undefined && heads[index] === row) return { kind: "group", group };
      return { kind: "sample", place: row - index - 1 };
    },
    rowOf: (place) => place + lastAtMost(firsts, place) + 1,
  };
}

/** One row a sample. */
export function flatRows(total: number): Rows {
  return { length: total, at: (row) => ({ kind: "sample", place: row }), rowOf: (place) => place };
}

/** Index of the last value that is not above `limit`, in ascending values; -1 where all are above. */
export function lastAtMost(values: readonly number[], limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Index of the value nearest to `wanted`, in ascending values; -1 where there are none. */
export function nearest(values: readonly number[], wanted: number): number {
  const below = lastAtMost(values, wanted);
  const low = values[below];
  const high = values[below + 1];
  if (low === undefined) return high === undefined ? -1 : 0;
  return high !== undefined && high - wanted < wanted - low ? below + 1 : below;
}
