/** What can be done, by name: one list for the keys, the map of keys and the palette. `app/keys.ts` fills it. */

import { signal } from "@preact/signals";

export interface ActionEntry {
  action: string;
  words: string;
  /** As printed on the key; empty where it has none. */
  label: string;
  /** Whether it means anything here and now. */
  can: () => boolean;
  act: () => void;
}

export const actionEntries = signal<readonly ActionEntry[]>([]);
