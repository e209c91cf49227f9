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

/** True if the address of the page may open on this machine only: it may be the end of a tunnel. */
export const isOnlyHere = (): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** Copy a link, by default that of this page. True if the clipboard took it. */
export async function copyLink(session: Session, link = linkHere(session)): Promise<boolean> {
  const isCopied = await copy(link);
  if (isCopied) announce(isOnlyHere() ? "Link copied; it may open only on this machine" : "Link copied");
  else linkShown.value = link;
  return isCopied;
}
