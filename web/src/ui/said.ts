/** A word about what a key just did, said where the page's announcements stand. */

import { signal } from "@preact/signals";

const SAID_MS = 2000;

export const said = signal("");

let timer: ReturnType<typeof setTimeout> | undefined;

export function say(words: string): void {
  clearTimeout(timer);
  said.value = words;
  timer = setTimeout(() => {
    said.value = "";
  }, SAID_MS);
}
