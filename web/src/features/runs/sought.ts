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

/** The runs whose name, format, path or note has each word, those whose name has them first; else names that have the letters. */
export function sought(known: readonly RunItem[], text: string): readonly RunItem[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return known;
  const has = (where: string): boolean => words.every((word) => where.toLowerCase().includes(word));
  const found = known.filter((item) => has(`${nameOf(item)} ${item.name} ${item.format} ${item.path} ${runMark(item.id).note}`));
  if (found.length > 0) return found.toSorted((a, b) => Number(has(nameOf(b))) - Number(has(nameOf(a))));
  return known.filter((item) => fit(text, nameOf(item)) !== null);
}

export function ordered(items: readonly RunItem[], by: Order): readonly RunItem[] {
  if (by === "name") return items.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true }));
  const age = (item: RunItem): number => changedS(item) ?? Number.MAX_VALUE;
  if (by === "written") return items.toSorted((a, b) => age(a) - age(b));
  return by === "samples" ? items.toSorted((a, b) => samplesOf(b) - samplesOf(a)) : items;
}
