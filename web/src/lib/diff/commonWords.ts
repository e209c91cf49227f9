/**
 * Similar rows: of prompts with the same template, a row shows only the differing words, so that the eye finds them.
 */

/** Shorter runs of shared words stay: they connect the other words. */
const RUN = 4;

/** Fewer different texts do not reveal a template. */
const LEAST_TEXTS = 3;

/** A shorter beginning that most texts share stays: it says what they are about. */
const LEAST_START = 24;

const TAIL_CHARS = 20;

const WORD = /\S+/g;

/** What the texts of several rows share. */
export interface Shared {
  /** The words that all of them contain. */
  readonly words: ReadonlySet<string>;
  /** The longest beginning, in whole words, that at least half of them share. */
  readonly start: string;
}

export const NOTHING_SHARED: Shared = { words: new Set(), start: "" };

export function sharedBy(texts: readonly string[]): Shared {
  const some = [...new Set(texts)];
  return { words: wordsIn(some), start: startOf(some) };
}

/** The words of all texts; empty for too few texts. */
function wordsIn(texts: readonly string[]): ReadonlySet<string> {
  if (texts.length < LEAST_TEXTS) return NOTHING_SHARED.words;
  const [first, ...rest] = texts.map((text) => new Set(text.match(WORD)));
  return new Set([...(first ?? [])].filter((word) => rest.every((words) => words.has(word))));
}

/** Sorted texts that share a beginning are adjacent, so only the ends of each half of them are compared. */
function startOf(texts: readonly string[]): string {
  const sorted = texts.toSorted();
  const half = Math.max(2, Math.ceil(sorted.length / 2));
  const starts = sorted.slice(half - 1).map((last, i) => beginningOf(sorted[i] ?? "", last));
  return starts.reduce((longest, start) => (start.length > longest.length ? start : longest), "");
}

function beginningOf(one: string, other: string): string {
  let end = 0;
  while (end < one.length && one[end] === other[end]) end += 1;
  const start = one.slice(0, one.lastIndexOf(" ", end - 1) + 1);
  return start.length < LEAST_START ? "" : start;
}

const cache = new WeakMap<object, { settings: string; shared: Shared }>();

/** `sharedBy` of some items, computed once for the same settings, with which alone their texts change. */
export function sharedOf<T>(items: readonly T[], text: (item: T) => string, settings: string): Shared {
  let known = cache.get(items);
  if (known?.settings !== settings) cache.set(items, (known = { settings, shared: sharedBy(items.map(text)) }));
  return known.shared;
}

/** A text without the shared beginning and words; the text itself if nothing would remain. */
export function without(text: string, { words, start }: Shared): string {
  const isBegun = start !== "" && text.startsWith(start) && text.length > start.length;
  const rest = withoutWords(isBegun ? text.slice(start.length) : text, words);
  return isBegun && rest !== "" ? `… ${rest}` : rest;
}

/** An ellipsis stands for each run of shared words between others. */
function withoutWords(text: string, common: ReadonlySet<string>): string {
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
