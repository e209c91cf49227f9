/** Rows that are alike: of prompts of one template only what differs is shown, so that the eye finds it. */

/** Fewer words in a row that all have are left: they hold the others together. */
const RUN = 4;

/** Fewer different texts say nothing of a template. */
const LEAST_TEXTS = 3;

const TAIL_CHARS = 20;

const WORD = /\S+/g;

/** The words that each of several different texts has; empty where there are few texts. */
export function commonWords(texts: readonly string[]): ReadonlySet<string> {
  const some = [...new Set(texts)];
  if (some.length < LEAST_TEXTS) return new Set();
  const [first, ...rest] = some.map((text) => new Set(text.match(WORD)));
  return new Set([...(first ?? [])].filter((word) => rest.every((words) => words.has(word))));
}

const cache = new WeakMap<object, ReadonlySet<string>>();

/** `commonWords` of some items, found once. */
export function commonOf<T>(items: readonly T[], text: (item: T) => string): ReadonlySet<string> {
  let words = cache.get(items);
  if (words === undefined) cache.set(items, (words = commonWords(items.map(text))));
  return words;
}

/**
 * What a text has and the others have not, with an ellipsis for each run of words between that all of them have; the
 * text itself where nothing would be left.
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
  // What is left behind the last run of a text that was cut off is nothing to read.
  const last = shown.lastIndexOf("…");
  if (text.endsWith("…") && last >= 0 && shown.slice(last + 1).join(" ").length < TAIL_CHARS) shown.length = last + 1;
  while (shown[0] === "…") shown.shift();
  while (shown.at(-1) === "…") shown.pop();
  return shown.length === 0 ? text : shown.join(" ");
}
