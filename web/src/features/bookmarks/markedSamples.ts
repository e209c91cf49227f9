/** The marked samples of a run in their current state, and the search in marks. */

import { getMarked } from "../../api";
import type { MarkedSample, StateItem, StateOwner } from "../../api/types.gen";

/** By the id under which the sample was marked. */
export type MarkedSamples = ReadonlyMap<string, MarkedSample>;

export interface Mark {
  item: StateItem;
  owner: StateOwner | null;
}

/**
 * Load the marked samples of runs, one run at a time, the newest marks first. Ends when `tell` returns false; skips
 * runs that cannot be loaded.
 */
export async function loadMarkedSamples(
  runs: readonly string[],
  tell: (run: string, samples: MarkedSamples) => boolean,
): Promise<void> {
  for (const run of runs) {
    try {
      let before: number | undefined;
      while (before !== 0) {
        const reply = await getMarked(run, before);
        if (!tell(run, new Map(reply.samples.map((one) => [one.name, one])))) return;
        ({ before } = reply);
      }
    } catch {
      // Its marks are shown without the data of the run.
    }
  }
}

/** The marks that contain every word. */
export function matchingMarks(
  marks: readonly Mark[],
  text: string,
  samples: ReadonlyMap<string, MarkedSamples>,
): Mark[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [...marks];
  return marks.filter(({ item, owner }) => {
    const now = samples.get(owner?.run ?? "")?.get(item.name)?.sample;
    const all = [
      item.name,
      item.sample_mark?.note,
      item.sample_mark?.uid,
      now?.response ?? item.sample_mark?.excerpt,
      now?.status,
      owner?.name,
    ]
      .join("\n")
      .toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
