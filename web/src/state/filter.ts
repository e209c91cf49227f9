/** The filter of the list, and the small menu that any value offers: only this, or all but this. */

import { signal } from "@preact/signals";
import type { WireNumber } from "../api/types.gen";
import type { Extent } from "../lib/address";
import { condition, narrowed } from "../lib/filter";
import { columnOf } from "./columns";
import { keepIfHeld } from "./list";
import { go, place } from "./place";

export interface Offer {
  column: string;
  value: WireNumber;
  /** Where the value stands on the screen, and what has the focus again when the menu goes. */
  at: { left: number; top: number; bottom: number };
  from: HTMLElement;
}

export const offer = signal<Offer | null>(null);

/** Offer to filter by a value: `column` is a name that filters know (`reward`, `status`, a sample metric, a tag). */
export function offerFilter(column: string, value: WireNumber, from: HTMLElement): void {
  const { left, top, bottom } = from.getBoundingClientRect();
  offer.value = { column, value, at: { left, top, bottom }, from };
}

/** Narrow the list. What is read stays for as long as the new list has it, or cannot be had. */
export function filterBy(where: string): void {
  const { sample, where: now } = place.peek();
  if (where === now) return;
  keepIfHeld(sample, where);
  go({ where });
}

/** Look at other steps. What is read stays where it is one of theirs. */
export function widen(extent: Extent): void {
  const { sample, where } = place.peek();
  keepIfHeld(sample, where);
  go({ extent });
}

/** What the menu of a value offers, each as the filter that it would make. */
export function choices({ column, value }: Offer): { words: string; where: string }[] {
  const isNumber = columnOf(column)?.kind === "number" || typeof value === "number";
  const { where } = place.peek();
  const can = (words: string, operator: "=" | "!=" | "<=" | ">=", said = operator): { words: string; where: string } => ({
    words: `${words} ${condition(column, said, value, isNumber)}`,
    where: narrowed(where, condition(column, operator, value, isNumber)),
  });
  const both = [can("Only", "="), can("Exclude", "!=", "=")];
  return typeof value === "number" ? [...both, can("Only", ">="), can("Only", "<=")] : both;
}
