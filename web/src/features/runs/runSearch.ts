/** Search in runs. */

import type { RunItem } from "../../api/types.gen";
import { fit } from "../../lib/text/fuzzy";
import { nameOf, runMark } from "../../state/marks";

/** The words of a search. */
export const wordsIn = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** For a word, the ids of the runs whose configuration has it. */
export type Configured = ReadonlyMap<string, ReadonlySet<string>>;

const NONE: Configured = new Map();

/**
 * The runs whose name, format, path, description, note or configuration has each word, matching names first; otherwise
 * those whose name has the letters.
 */
export function matchingRuns(all: readonly RunItem[], text: string, configured: Configured = NONE): readonly RunItem[] {
  const words = wordsIn(text);
  if (words.length === 0) return all;
  const has = (where: string, id = ""): boolean =>
    words.every((word) => where.toLowerCase().includes(word) || configured.get(word)?.has(id) === true);
  const result = all.filter((item) =>
    has(`${nameOf(item)} ${item.name} ${item.format} ${item.path} ${item.reason} ${runMark(item.id).note}`, item.id),
  );
  if (result.length > 0) return result.toSorted((a, b) => Number(has(nameOf(b))) - Number(has(nameOf(a))));
  return all.filter((item) => fit(text, nameOf(item)) !== null);
}
