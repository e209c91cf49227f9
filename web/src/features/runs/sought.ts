/** Runs by what is typed of them, and in the order that a person likes. */

import type { RunItem } from "../../api/types.gen";
import { fit } from "../../lib/fuzzy";
import { nameOf, runMark } from "../../state/marks";
import { changedS, samplesOf } from "../../state/runs";

export type Order = "found" | "written" | "name" | "samples";

export const ORDERS: readonly { value: Order; label: string }[] = [
  { value: "found", label: "As found" },
  { value: "written", label: "Last written" },
  { value: "name", label: "Name" },
  { value: "samples", label: "Most samples" },
];

/** The runs that fit, the best first. */
export function sought(known: readonly RunItem[], text: string): readonly RunItem[] {
  if (text.trim() === "") return known;
  const fits = known.flatMap((item) => {
    const found = fit(text, `${nameOf(item)} ${item.name} ${item.format} ${item.path} ${runMark(item.id).note}`);
    return found === null ? [] : [{ item, score: found.score }];
  });
  return fits.toSorted((a, b) => b.score - a.score).map(({ item }) => item);
}

export function ordered(items: readonly RunItem[], by: Order): readonly RunItem[] {
  if (by === "name") return items.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true }));
  const age = (item: RunItem): number => changedS(item) ?? Number.MAX_VALUE;
  if (by === "written") return items.toSorted((a, b) => age(a) - age(b));
  return by === "samples" ? items.toSorted((a, b) => samplesOf(b) - samplesOf(a)) : items;
}
