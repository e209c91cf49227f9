/** Copying the address of what is shown; where the clipboard is closed, a dialog holds it to be copied by hand. */

import { signal } from "@preact/signals";
import { settle } from "../state/place";
import { copy } from "./clipboard";
import { say } from "./said";

/** The link to copy by hand; null for none. */
export const linkShown = signal<string | null>(null);

export function linkHere(): string {
  settle();
  return location.origin + location.pathname + location.search;
}

/** Copy a link, that of this page unless told. True where the clipboard took it. */
export async function copyLink(link = linkHere()): Promise<boolean> {
  const isCopied = await copy(link);
  if (isCopied) say("Link copied");
  else linkShown.value = link;
  return isCopied;
}
