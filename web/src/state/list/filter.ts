/** The filter of the list, and the small menu that any value offers: only this, or all but this. */

import { signal } from "@preact/signals";
import type { WireNumber } from "../../api/types.gen";
import type { Extent } from "../../lib/address/address";
import { condition, narrowed } from "../../lib/list/filter";
import { Store } from "../store";

export interface Offer {
  column: string;
  value: WireNumber;
  /** The place of the value on the screen, and the element that gets the focus back when the menu closes. */
  at: { left: number; top: number; bottom: number };
  from: HTMLElement;
}

export class FilterStore extends Store {
  readonly offer = signal<Offer | null>(null);

  /** Offer to filter by a value: `column` is a name that filters know (`reward`, `status`, a sample metric, a tag). */
  offerFilter(column: string, value: WireNumber, from: HTMLElement): void {
    const { left, top, bottom } = from.getBoundingClientRect();
    this.offer.value = { column, value, at: { left, top, bottom }, from };
  }

  /** Narrow the list. The open sample stays while the new list has it or cannot be loaded. */
  filterBy(where: string): void {
    const { sample, where: now } = this.session.place.now.peek();
    if (where === now) return;
    this.session.browse.keepIfHeld(sample, where);
    this.session.place.go({ where });
  }

  /** Look at other steps. The open sample stays if it belongs to them. */
  widen(extent: Extent): void {
    const { sample, where } = this.session.place.now.peek();
    this.session.browse.keepIfHeld(sample, where);
    this.session.place.go({ extent });
  }

  /** The choices of the menu of a value, each with its filter. */
  choices({ column, value }: Offer): { words: string; where: string }[] {
    const isNumber = this.session.columns.named(column)?.kind === "number" || typeof value === "number";
    const { where } = this.session.place.now.peek();
    const can = (
      words: string,
      operator: "=" | "!=" | "<=" | ">=",
      shownOperator = operator,
    ): { words: string; where: string } => ({
      words: `${words} ${condition(column, shownOperator, value, isNumber)}`,
      where: narrowed(where, condition(column, operator, value, isNumber)),
    });
    const both = [can("Only", "="), can("Exclude", "!=", "=")];
    return typeof value === "number" ? [...both, can("Only", ">="), can("Only", "<=")] : both;
  }
}
