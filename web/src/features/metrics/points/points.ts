/** The drawn points of a curve: without outliers, the first step, or steps after a last one. */

import { figure, whole } from "../../../lib/numbers/numbers";
import type { Asked } from "../choice";

/** The choice of points, as the address holds it. */
export interface Points {
  /** How far beyond the quartiles a value may lie, as a multiple of their distance; 0 keeps all. */
  outliers: number;
  skip_first: boolean;
  from_zero: boolean;
  last: number | null;
}

/** The factor that most people use. */
export const FACTOR = 1.5;
export const MOST_FACTOR = 1000;

export const pointsOf = ({ outliers = "", first = "", last = "", zero = "" }: Asked): Points => ({
  outliers: factorOf(outliers),
  skip_first: first === "0",
  from_zero: zero === "1",
  last: whole(last),
});

/** The factor that a person typed; 0 for none and for an invalid one. */
export function factorOf(text: string): number {
  const factor = Number(text);
  return factor > 0 && factor <= MOST_FACTOR ? factor : 0;
}

/** The choice in words; empty for all points. */
export const wordsOf = ({ outliers, skip_first, from_zero, last }: Points): string[] => [
  ...(outliers > 0 ? ["without outliers"] : []),
  ...(skip_first ? ["without the first step"] : []),
  ...(last === null ? [] : [`up to step ${figure(last)}`]),
  ...(from_zero ? ["shifted to begin at zero"] : []),
];
