/** The source of a curve in words: several may have one title, such as the entropy of the trainer and of samples. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { ownValue } from "../../data/record";

const SOURCES: Readonly<Record<string, string>> = {
  sample: "samples",
  token: "tokens",
  trainer: "trainer",
  group: "groups",
  share: "samples",
  outcome: "samples",
  correlation: "samples",
  mask: "tokens",
  eval: "evaluation",
  elapsed: "trainer",
  cumulative: "samples",
};

/** The source of a curve, and its own name if the title differs. */
export function sourceOf({ kind, name, title, section }: CatalogueEntry): string {
  const own = name === "" || name === title ? "" : name;
  return [ownValue(SOURCES, kind) ?? section, own].filter((one) => one !== "").join(" · ");
}

/** The entries with all words in title, name, source or section, title matches first; all entries without words. */
export function foundIn(entries: readonly CatalogueEntry[], text: string): CatalogueEntry[] {
  const words = text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
  const ranked = entries.flatMap((entry) => {
    const title = entry.title.toLowerCase();
    const all = `${title} ${sourceOf(entry)} ${entry.section}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) return [];
    return [{ entry, rank: words.filter((word) => !title.includes(word)).length }];
  });
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ entry }) => entry);
}
