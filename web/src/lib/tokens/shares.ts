/** The shares of an update that each sample, group, role or token string carries, under one or two rules. */

import type { UpdatePush } from "../../api/types.gen";
import { toNumber } from "../numbers/numbers";

/** Shares of the update: of all that is pushed up, pushed down and lost to the rule, which together are 1. */
export interface Share {
  up: number;
  down: number;
  lost: number;
  tokens: number;
  takenOut: number;
  unmoved: number;
  uncounted: number;
}

export interface ShareRow {
  name: string;
  /** One for each rule; null if its answer lacks the name or is missing. */
  shares: readonly (Share | null)[];
}

export function shareOf(push: UpdatePush, whole: UpdatePush): Share {
  const [up, down, lost] = [valueOf(push.up), valueOf(push.down), valueOf(push.lost)];
  const size = valueOf(whole.up) + valueOf(whole.down) + valueOf(whole.lost);
  return {
    up: up === 0 ? 0 : up / size,
    down: down === 0 ? 0 : down / size,
    lost: lost === 0 ? 0 : lost / size,
    tokens: push.tokens,
    takenOut: push.taken_out,
    unmoved: push.unmoved,
    uncounted: push.uncounted,
  };
}

/** The sums of a rule by name, and over all names. */
interface Sums {
  whole: UpdatePush;
  by: readonly UpdatePush[];
}

/** The rows of a table: names in the order of the first rule that has them. */
export function shareRows(rules: readonly (Sums | null)[]): ShareRow[] {
  const byName = rules.map((sums) => new Map(sums?.by.map((push) => [push.name, push])));
  const names = new Set(byName.flatMap((pushes) => [...pushes.keys()]));
  return [...names].map((name) => ({
    name,
    shares: rules.map((sums, rule) => {
      const push = byName[rule]?.get(name);
      return sums === null || push === undefined ? null : shareOf(push, sums.whole);
    }),
  }));
}

/** The largest share of any row and rule, which fills its bar. */
export function largest(rows: readonly ShareRow[]): number {
  const sizes = rows.flatMap(({ shares }) => shares.map((share) => (share === null ? 0 : share.up + share.down)));
  return sizes.reduce((most, size) => (size > most ? size : most), 0);
}

const valueOf = (value: UpdatePush["up"]): number => toNumber(value) ?? NaN;
