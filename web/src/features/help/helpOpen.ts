/** Whether the map of keys is open. */

import { signal } from "@preact/signals";

export const helpOpen = signal(false);
