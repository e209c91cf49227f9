/** Copies the address of the page; if the clipboard is closed, a dialog offers it for copying by hand. */

import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { copy } from "./clipboard";
import { announce } from "../overlay/announce";

/** The link to copy by hand; null for none. */
export const linkShown = signal<string | null>(null);

export function linkHere(session: Session): string {
  session.place.settle();
  return location.origin + location.pathname + location.search;
}

/** True if the address of the page opens on this machine only. */
export const isOnlyHere = (): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** Copy a link, by default that of this page. True if the clipboard took it. */
export async function copyLink(session: Session, link = linkHere(session)): Promise<boolean> {
  const isCopied = await copy(link);
  if (isCopied) announce(isOnlyHere() ? "Link copied; it opens only on this machine" : "Link copied");
  else linkShown.value = link;
  return isCopied;
}
