/** Announces the effect of a key, in the place of the page's announcements. */

import { signal } from "@preact/signals";

const SAID_MS = 2000;

/** Words, and whether the page shows them: what stands on it already is for screen readers alone. */
export const announcement = signal({ words: "", isSeen: true });

let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(words: string, isSeen = true): void {
  clearTimeout(timer);
  announcement.value = { words, isSeen };
  timer = setTimeout(() => {
    announcement.value = { words: "", isSeen };
  }, SAID_MS);
}
