/** The smoothing slider while a person moves it. */

import { signal } from "@preact/signals";

/** The chosen span; null while nobody moves it. */
export const draggedSpan = signal<number | null>(null);

/** Counts how often a person came to the slider or the charts: a new average or range may be needed soon. */
export const visits = signal(0);

export const visit = (): void => {
  visits.value += 1;
};
