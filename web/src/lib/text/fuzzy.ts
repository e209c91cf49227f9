/** Fuzzy search: how well a text matches a few letters, and which of its letters match. */

export interface Fit {
  score: number;
  /** The places of the matching letters, ascending. */
  at: readonly number[];
}

const IN_A_ROW = 8;
const WORD_START = 6;
const FIRST = 4;
/** Longer texts are searched up to this length. */
const MOST = 300;

/**
 * The quality of a match: every word of the pattern must occur in the text, whole or as letters in this order. Null
 * without a match. An empty pattern matches everything.
 */
export function fit(pattern: string, text: string): Fit | null {
  const hay = text.slice(0, MOST).toLowerCase();
  let score = 0;
  const at = new Set<number>();
  for (const word of pattern
    .toLowerCase()
    .split(/\s+/)
    .filter((one) => one !== "")) {
    const result = whole(word, hay) ?? scattered(word, hay);
    if (result === null) return null;
    score += result.score;
    for (const place of result.at) at.add(place);
  }
  return { score: score - hay.length / MOST, at: [...at].toSorted((a, b) => a - b) };
}

function whole(word: string, hay: string): Fit | null {
  let best: Fit | null = null;
  for (let from = hay.indexOf(word); from >= 0; from = hay.indexOf(word, from + 1)) {
    const score =
      word.length * IN_A_ROW + (isStart(hay, from) ? WORD_START * word.length : 0) + (from === 0 ? FIRST : 0);
    if (best === null || score > best.score) best = { score, at: Array.from(word, (_, i) => from + i) };
  }
  return best;
}

/** The letters in order; starts of words are preferred if the rest still matches after them. */
function scattered(word: string, hay: string): Fit | null {
  const at = places(word, hay, true) ?? places(word, hay, false);
  if (at === null) return null;
  let score = 0;
  at.forEach((place, i) => {
    if (i > 0 && place === (at[i - 1] ?? 0) + 1) score += IN_A_ROW;
    if (isStart(hay, place)) score += WORD_START;
  });
  return score >= word.length * 2 ? { score, at } : null;
}

function places(word: string, hay: string, toStarts: boolean): number[] | null {
  const at: number[] = [];
  let from = 0;
  for (const letter of word) {
    const next = hay.indexOf(letter, from);
    if (next < 0) return null;
    const place = toStarts && next !== from ? (startFrom(hay, letter, next) ?? next) : next;
    at.push(place);
    from = place + 1;
  }
  return at;
}

/** The first place, from `from` on, where a letter begins a word; null without one. */
function startFrom(hay: string, letter: string, from: number): number | null {
  for (let at = from; at >= 0; at = hay.indexOf(letter, at + 1)) if (isStart(hay, at)) return at;
  return null;
}

function isStart(hay: string, at: number): boolean {
  return at === 0 || /[^\p{L}\p{N}]/u.test(hay.charAt(at - 1));
}
