/** Sentences that a response repeats, or copies from its prompt. */

const BREAKS = /\n|[.!?] |[。！？]/;
const AROUND = /^[ \t\r.!?]+|[ \t\r.!?]+$/g;
/** Shorter sentences may repeat by chance. */
const SHORT = 8;
const LONG = 20;
const MOST = 6;

/** Ends of sentences, as in the index: ends of lines, and full stops before a blank. */
export function sentencesOf(text: string): string[] {
  return text
    .split(BREAKS)
    .map((one) => one.replaceAll(AROUND, ""))
    .filter((one) => [...one].length >= SHORT);
}

/** The sentences that a text has several times, the most frequent first. */
export function repeatedSentences(text: string): string[] {
  const counts = new Map<string, number>();
  for (const one of sentencesOf(text)) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > 1)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST)
    .map(([one]) => one);
}

/** The sentences of a response that its prompt has, too. */
export function copiedSentences(prompt: string, response: string): string[] {
  const known = new Set(sentencesOf(prompt).filter((one) => [...one].length >= LONG));
  return [...new Set(sentencesOf(response))].filter((one) => known.has(one)).slice(0, MOST);
}

/** A regular expression that finds any of these texts. */
export const anyOf = (texts: readonly string[]): string =>
  texts.map((one) => one.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join("|");
