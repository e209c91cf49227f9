/** Search in runs. */

import type { RunItem } from "../../api/types.gen";
import { fit } from "../../lib/text/fuzzy";
import { nameOf, runMark } from "../../state/marks";

/**
 * The runs whose name, format, path, description or note contains each word, matching names first; otherwise those
 * whose name has the letters.
 */
export function matchingRuns(all: readonly RunItem[], text: string): readonly RunItem[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return all;
  const has = (where: string): boolean => words.every((word) => where.toLowerCase().includes(word));
  const result = all.filter((item) =>
    has(`${nameOf(item)} ${item.name} ${item.format} ${item.path} ${item.reason} ${runMark(item.id).note}`),
  );
  if (result.length > 0) return result.toSorted((a, b) => Number(has(nameOf(b))) - Number(has(nameOf(a))));
  return all.filter((item) => fit(text, nameOf(item)) !== null);
}
