/** A figure of the sample that was pressed: what happens then is the list's to say. */

import { signal } from "@preact/signals";

/** Filter the list by a value of a figure, or without it; null as long as nobody has said how. */
export const pickFact = signal<((field: string, value: string | number, exclude: boolean) => void) | null>(null);
