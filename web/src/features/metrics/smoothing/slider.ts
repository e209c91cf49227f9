/** The slider of the page while a person holds it. */

import { signal } from "@preact/signals";

/** The chosen span; null while nobody moves it. */
export const draggedSpan = signal<number | null>(null);

/** True while a person points at it, or it has the focus: another average may be wanted soon. */
export const isAtSlider = signal(false);
