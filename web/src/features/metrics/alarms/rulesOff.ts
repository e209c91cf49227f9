/** The rules that a person switched off for a run, each with a reason; the server keeps them. */

import { isRecord } from "../../../lib/data/record";
import { ofLayout, put, recordAt } from "../../../state/marks";

const PAGE = "rules";

/** The reasons by rule. */
export function rulesOff(run: string): ReadonlyMap<string, string> {
  const off = recordAt(ofLayout(run, PAGE))?.["off"];
  const all = isRecord(off) ? Object.entries(off) : [];
  return new Map(all.flatMap(([rule, reason]) => (typeof reason === "string" ? [[rule, reason]] : [])));
}

/** Switch a rule off for a reason, or on again for null. */
export function switchRule(run: string, rule: string, reason: string | null): void {
  const off = new Map(rulesOff(run));
  off.delete(rule);
  if (reason !== null) off.set(rule, reason);
  void put(ofLayout(run, PAGE), off.size === 0 ? null : { off: Object.fromEntries(off) });
}
