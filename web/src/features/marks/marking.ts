/** Marks the current sample: toggles its bookmark, opens its note for writing. */

import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { changeSample, isUnsaved, ofSample, sampleMark } from "../../state/marks";
import { mayWrite } from "../../state/team/people";
import { announce } from "../../ui/overlay/announce";

/** The sample whose note is being written, with its run; null for none. */
export const noteOpen = signal<string | null>(null);

/** Text that was set aside, by the same key: it returns when the field opens again. */
export const drafts = new Map<string, string>();

export const noteKey = (run: string | null, sample: string | null): string => `${run ?? ""}\n${sample ?? ""}`;

/** Whether the person may add marks; says so if not. */
function writes(): boolean {
  if (!mayWrite.peek()) announce("Your role on this server is reader");
  return mayWrite.peek();
}

export function toggleBookmark(session: Session): void {
  const { run, sample } = session.place.now.peek();
  if (run === null || sample === null || !writes()) return;
  const { bookmarked } = sampleMark(run, sample);
  void changeSample(run, sample, { bookmarked: !bookmarked }).then(() => {
    if (!isUnsaved(ofSample(run, sample))) announce(bookmarked ? "Bookmark removed" : "Bookmarked");
  });
}

export function openNote(session: Session): void {
  const { run, sample } = session.place.now.peek();
  if (sample !== null && writes()) noteOpen.value = noteKey(run, sample);
}
