/** The runs that a person ticked in the list, to compare them. They stay while the page is open. */

import { computed, signal } from "@preact/signals";
import type { RunItem } from "../../../api/types.gen";
import { MAX_OVER, type Place } from "../../../lib/address/address";
import { placeOf, runOf } from "../../../state/runs";

const ids = signal<readonly string[]>([]);

/** In the order in which they were ticked. */
export const ticked = computed<readonly RunItem[]>(() => ids.value.flatMap((id) => runOf(id) ?? []));

export function tick(id: string, isTicked: boolean): void {
  const others = ids.peek().filter((one) => one !== id);
  ids.value = isTicked ? [...others, id].slice(-MAX_OVER - 1) : others;
}

/** The place that compares the ticked runs with the first of them. Null for fewer than two. */
export function placeOfTicked(): Partial<Place> | null {
  const [first, ...others] = ticked.value;
  if (first === undefined || others.length === 0) return null;
  return { ...placeOf(first), page: "compare", over: others.map(({ id }) => id) };
}
