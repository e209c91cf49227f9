/** Announces the effect of a key where the page makes its announcements. */

import { signal } from "@preact/signals";

const SAID_MS = 2000;

/** Words, and whether the page shows them; words that repeat the page are for screen readers only. */
export const announcement = signal({ words: "", isSeen: true });

let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(words: string, isSeen = true): void {
  clearTimeout(timer);
  announcement.value = { words, isSeen };
  timer = setTimeout(() => {
    announcement.value = { words: "", isSeen };
  }, SAID_MS);
}
