/** Rows that begin alike: where prompts of one template part, their previews begin. */

/** Less in common is left: it tells what the rows are about. */
const LEAST_CHARS = 16;

/** How many characters different texts begin with in common, up to the start of a word; 0 where that is little. */
export function commonStart(texts: readonly string[]): number {
  const some = [...new Set(texts)];
  const [first, ...rest] = some;
  if (first === undefined || rest.length === 0) return 0;
  let length = first.length;
  for (const text of rest) {
    length = Math.min(length, text.length);
    let same = 0;
    while (same < length && text.charCodeAt(same) === first.charCodeAt(same)) same += 1;
    length = same;
  }
  const start = first.lastIndexOf(" ", length) + 1;
  return start < LEAST_CHARS || some.some((text) => text.length <= start) ? 0 : start;
}

const starts = new WeakMap<object, number>();

/** `commonStart` of some items, found once. */
export function startOf<T>(items: readonly T[], text: (item: T) => string): number {
  let start = starts.get(items);
  if (start === undefined) starts.set(items, (start = commonStart(items.map(text))));
  return start;
}

/** A text without its first characters, which many have in common. */
export const without = (text: string, start: number): string => (start === 0 || text.length <= start ? text : `…${text.slice(start)}`);
