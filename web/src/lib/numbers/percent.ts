/** A share in words. */

import type { WireNumber } from "../../api/types.gen";
import { finite, score, signed } from "./numbers";

/** A share in percent with two figures, `1.3%`; a dash without one. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const hundredths = share * 100;
  return `${hundredths >= 10 ? evenly(hundredths) : Number(hundredths.toPrecision(2))}%`;
}

/** Rounds a half to the even number, as the sentences of the server do: 72.5 is 72 in both. */
function evenly(value: number): number {
  const near = Math.round(value);
  return near - value === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

/** A share as the value of a chart: three figures, but 100 only for all. */
export function inPercent(value: WireNumber | undefined, none = ""): string {
  const share = finite(value);
  if (share === null) return score(value, none);
  const rounded = Number((100 * share).toPrecision(3));
  const shown = Math.abs(share) < 1 && Math.abs(rounded) === 100 ? 99.9 * Math.sign(share) : rounded;
  return `${String(shown).replaceAll("-", "−")}%`;
}

const signedPercent: typeof score = (value, none) => `${(finite(value) ?? 0) > 0 ? "+" : ""}${inPercent(value, none)}`;

/** How the values of a chart are written: shares in percent, changes with their sign. */
export function wordsOfValues(isShare: boolean, isChange = false): typeof score {
  if (isShare) return isChange ? signedPercent : inPercent;
  return isChange ? signed : score;
}
