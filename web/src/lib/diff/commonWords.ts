/**
 * Similar rows: of prompts with the same template, a row shows only the differing words, so that the eye finds them.
 */

/** Shorter runs of shared words stay: they connect the other words. */
const RUN = 4;

/** Fewer different texts do not reveal a template. */
const LEAST_TEXTS = 3;

const TAIL_CHARS = 20;

const WORD = /\S+/g;

/** The words that all of several different texts contain; empty for too few texts. */
export function commonWords(texts: readonly string[]): ReadonlySet<string> {
  const some = [...new Set(texts)];
  if (some.length < LEAST_TEXTS) return new Set();
  const [first, ...rest] = some.map((text) => new Set(text.match(WORD)));
  return new Set([...(first ?? [])].filter((word) => rest.every((words) => words.has(word))));
}

const cache = new WeakMap<object, ReadonlySet<string>>();

/** `commonWords` of some items, computed once. */
export function commonOf<T>(items: readonly T[], text: (item: T) => string): ReadonlySet<string> {
  let words = cache.get(items);
  if (words === undefined) cache.set(items, (words = commonWords(items.map(text))));
  return words;
}

/**
 * A text without shared words, with an ellipsis for each run of them between others; the text itself if nothing would
 * remain.
 */
export function without(text: string, common: ReadonlySet<string>): string {
  if (common.size === 0) return text;
  const shown: string[] = [];
  let run: string[] = [];
  const end = (): void => {
    shown.push(...(run.length < RUN ? run : ["…"]));
    run = [];
  };
  for (const [word] of text.matchAll(WORD)) {
    if (common.has(word)) run.push(word);
    else {
      end();
      shown.push(word);
    }
  }
  end();
  // the rest behind the last run of a truncated text is not worth reading
  const last = shown.lastIndexOf("…");
  if (text.endsWith("…") && last >= 0 && shown.slice(last + 1).join(" ").length < TAIL_CHARS) shown.length = last + 1;
  while (shown[0] === "…") shown.shift();
  while (shown.at(-1) === "…") shown.pop();
  return shown.length === 0 ? text : shown.join(" ");
}
