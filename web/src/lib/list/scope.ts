/** The samples of a list, their order and columns: turns an address into a request. */

import type { Extent, Mode, Place } from "../address/address";

/** The samples of a list, their order, and their presentation. */
export interface Scope {
  run: string;
  split: string;
  /** Null if the list has several steps. */
  step: number | null;
  /** First and last step of a range; null for an open end. */
  low: number | null;
  high: number | null;
  where: string;
  sort: string;
  descending: boolean;
  /** Null: groups, or samples if every group has only one. */
  mode: Mode | null;
  columns: readonly string[];
  /** True if the reader chose no columns: for groups, the server then adds the most informative ones. */
  usual: boolean;
  /** Lists discarded samples instead of trained ones. */
  discarded: boolean;
}

/** The columns of a row before the reader chooses any; for groups, the server adds the most informative ones. */
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

/** The columns of each row: first the one that sorts the list, so that the reader sees its order. */
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

/** True if the list covers a step. */
export function holds({ step, low, high }: Scope, one: number): boolean {
  return step === null ? (low === null || one >= low) && (high === null || one <= high) : one === step;
}

/** The request for a list, without a page. */
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
