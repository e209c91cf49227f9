/** A word about what a key just did, said where the page's announcements stand. */

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
