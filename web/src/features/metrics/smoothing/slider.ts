/** The slider of the page while a person holds it. */

import { signal } from "@preact/signals";

/** The chosen span; null while nobody moves it. */
export const draggedSpan = signal<number | null>(null);

/** How often a person came to the slider or to the charts: another average or range may be wanted soon. */
export const visits = signal(0);

export const visit = (): void => {
  visits.value += 1;
};
