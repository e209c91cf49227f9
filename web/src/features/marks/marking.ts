/** Marking the sample that is looked at: a bookmark by key, a note that opens for writing. */

import { signal } from "@preact/signals";
import { changeSample, isUnkept, ofSample, sampleMark } from "../../state/marks";
import { place } from "../../state/place";
import { say } from "../../ui/said";

/** The sample, with its run, whose note is being written; null for none. */
export const noteOpen = signal<string | null>(null);

/** What was written and put aside, by the same key: it stands in the field again when that is opened. */
export const drafts = new Map<string, string>();

export const noteKey = (run: string | null, sample: string | null): string => `${run ?? ""}\n${sample ?? ""}`;

export function toggleBookmark(): void {
  const { run, sample } = place.peek();
  if (run === null || sample === null) return;
  const { bookmarked } = sampleMark(run, sample);
  void changeSample(run, sample, { bookmarked: !bookmarked }).then(() => {
    if (!isUnkept(ofSample(run, sample))) say(bookmarked ? "Bookmark removed" : "Bookmarked");
  });
}

export function openNote(): void {
  const { run, sample } = place.peek();
  if (sample !== null) noteOpen.value = noteKey(run, sample);
}
