/** The marked samples of a run as it has them now, and the words of a mark. */

import { getMarked } from "../../api";
import type { MarkedSample, StateItem, StateOwner } from "../../api/types.gen";

/** By the id under which a sample was marked. */
export type MarkedSamples = ReadonlyMap<string, MarkedSample>;

export interface Mark {
  item: StateItem;
  owner: StateOwner | null;
}

/**
 * Ask for the marked samples of runs, one run after the other and those marked last first, for as long as `tell` says
 * that they are wanted; a run that cannot be asked is passed over.
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
      // Its marks are shown without what the run says of them.
    }
  }
}

/** The marks in which every word stands somewhere. */
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
