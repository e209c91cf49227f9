/** Which points of a curve are drawn: outliers, the first step and those after the last one may be left out. */

import { figure, whole } from "../../../lib/numbers/numbers";
import type { Asked } from "../choice";

/** Which points, as the address holds it. */
export interface Points {
  /** How many times the distance of the quartiles a value may be beyond them; 0 keeps all. */
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

/** What differs from all points as they are, in words. */
export const wordsOf = ({ outliers, skip_first, from_zero, last }: Points): string[] => [
  ...(outliers > 0 ? ["without outliers"] : []),
  ...(skip_first ? ["without the first step"] : []),
  ...(last === null ? [] : [`up to step ${figure(last)}`]),
  ...(from_zero ? ["shifted to begin at zero"] : []),
];
