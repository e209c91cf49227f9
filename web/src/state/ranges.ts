/** The range of rewards seen in each split so far, which their colours are spread over. */

import { computed, signal } from "@preact/signals";
import type { WireNumber } from "../api/types.gen";
import { finite } from "../lib/numbers";
import { type Range, rangeOf, widened } from "../lib/reward";
import { place } from "./place";
import { run as shown } from "./runs";

const seen = signal<ReadonlyMap<string, Range>>(new Map());

const keyOf = (run: string, split: string): string => `${run}\n${split}`;

/** Take rewards into account. */
export function see(run: string, split: string, rewards: Iterable<WireNumber>): void {
  const key = keyOf(run, split);
  const before = seen.peek().get(key) ?? null;
  const numbers = [...rewards].flatMap((reward) => finite(reward) ?? []);
  const after = widened(before, numbers);
  if (after === null || (before?.low === after.low && before.high === after.high)) return;
  seen.value = new Map(seen.peek()).set(key, after);
}

/** The range for the split that is looked at: the one that is declared, else what was seen. */
export const range = computed<Range>(() => {
  const { run, split } = place.value;
  const declared = shown.value?.reward_range ?? null;
  if (declared !== null) return { low: declared[0], high: declared[1] };
  const found = seen.value.get(keyOf(run ?? "", split ?? ""));
  return found === undefined ? { low: 0, high: 1 } : rangeOf(found.low, found.high);
});
