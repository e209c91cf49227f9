/** Announces the effect of a key, in the place of the page's announcements. */

import { signal } from "@preact/signals";

const SAID_MS = 2000;

export const announcement = signal("");

let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(words: string): void {
  clearTimeout(timer);
  announcement.value = words;
  timer = setTimeout(() => {
    announcement.value = "";
  }, SAID_MS);
}
