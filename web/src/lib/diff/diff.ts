/**
 * Finds the words in which two answers differ. The search for the shortest difference (Myers', as in jsdiff) has a time
 * limit: two long texts with little in common are then compared sentence by sentence; if that takes too long as well,
 * the result says so.
 */

import { diffArrays } from "diff";

/** A stretch of a turn, of one kind. */
export interface DiffPiece {
  turn: number;
  role: string;
  name: string;
  kind: string;
  text: string;
}

export interface Stretch {
  text: string;
  isSame: boolean;
}

export interface Differing extends Omit<DiffPiece, "text"> {
  stretches: Stretch[];
}

export type Difference =
  { first: Differing[]; second: Differing[]; by: "words" | "sentences"; share: number } | { refused: string };

const LIMIT_MS = 3000;
/** Scripts without spaces between words: each of their characters counts as a word. */
const SOLID = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const WORDS = new RegExp(
  [
    String.raw`[${SOLID}]\p{M}*`,
    String.raw`\p{N}+(?:[.,]\p{N}+)*(?![\p{L}_])`,
    String.raw`(?:(?![${SOLID}])[\p{L}\p{N}_])(?:(?![${SOLID}])[\p{L}\p{N}\p{M}_'’])*`,
    String.raw`\s+|[^\p{M}]\p{M}*|\p{M}+`,
  ].join("|"),
  "gu",
);
const SENTENCES = /[^\n.!?。]*[\n.!?。]+\s*|[^\n.!?。]+/gu;
/** Among the words, `HEAD` marks the start of a new stretch, and `WORD` precedes every word. */
const HEAD = "#";
const WORD = "=";

export function difference(first: readonly DiffPiece[], second: readonly DiffPiece[], limitMs = LIMIT_MS): Difference {
  for (const by of ["words", "sentences"] as const) {
    const pattern = by === "words" ? WORDS : SENTENCES;
    const numbers = new Map<string, number>();
    const words: string[] = [];
    const numbered = (token: string): number => {
      const number = numbers.get(token);
      if (number !== undefined) return number;
      numbers.set(token, words.length);
      return words.push(token) - 1;
    };
    // comparing numbers takes a fraction of the time of comparing words
    const changes = diffArrays(tokens(first, pattern).map(numbered), tokens(second, pattern).map(numbered), {
      timeout: limitMs,
    });
    if (changes === undefined) continue;
    const sideOf = (isLeft: boolean): [string, boolean][] =>
      changes.flatMap(({ value, added, removed }) =>
        (isLeft ? added : removed) ? [] : value.map((at): [string, boolean] => [words[at] ?? "", !added && !removed]),
      );
    const firstParts = put(first, sideOf(true));
    return { first: firstParts, second: put(second, sideOf(false)), by, share: shareOf(firstParts) };
  }
  return { refused: "they are too long and have too little in common" };
}

function tokens(pieces: readonly DiffPiece[], pattern: RegExp): string[] {
  const result: string[] = [];
  for (const { role, kind, text } of pieces) {
    result.push(`${HEAD}${role}\u0000${kind}`);
    for (const [token] of text.matchAll(pattern)) result.push(WORD + token);
  }
  return result;
}

/** Put the words of one side back into their stretches. */
function put(pieces: readonly DiffPiece[], words: readonly [string, boolean][]): Differing[] {
  const result: Differing[] = [];
  for (const [token, isSame] of words) {
    const of = pieces[result.length];
    const word = token.slice(WORD.length);
    if (token.startsWith(HEAD) && of !== undefined) {
      const { text: _, ...rest } = of;
      result.push({ ...rest, stretches: [] });
      continue;
    }
    const into = result.at(-1)?.stretches;
    const last = into?.at(-1);
    if (last !== undefined && last.isSame === isSame) last.text += word;
    else into?.push({ text: word, isSame });
  }
  for (const one of result) one.stretches = bridged(one.stretches);
  return result;
}

/**
 * White space between two differing words counts as different: otherwise a sentence would look like a row of stamps.
 */
function bridged(stretches: readonly Stretch[]): Stretch[] {
  const result: Stretch[] = [];
  stretches.forEach((one, i) => {
    const isBridge =
      one.isSame && one.text.trim() === "" && result.at(-1)?.isSame === false && stretches[i + 1]?.isSame === false;
    const isSame = one.isSame && !isBridge;
    const last = result.at(-1);
    if (last !== undefined && last.isSame === isSame) last.text += one.text;
    else result.push({ text: one.text, isSame });
  });
  return result;
}

function shareOf(pieces: readonly Differing[]): number {
  let same = 0;
  let all = 0;
  for (const { stretches } of pieces) {
    for (const { text, isSame } of stretches) {
      all += text.length;
      if (isSame) same += text.length;
    }
  }
  return all === 0 ? 1 : same / all;
}

/** Stretches in blocks of about `size` characters, which end at the end of a line if possible. */
export function inBlocks(stretches: readonly Stretch[], size = 6000): Stretch[][] {
  const result: Stretch[][] = [[]];
  let chars = 0;
  const add = (one: Stretch): void => {
    result.at(-1)?.push(one);
    chars += one.text.length;
  };
  for (const one of stretches) {
    const end = chars < size ? -1 : one.text.indexOf("\n") + 1;
    if (end < 0) {
      add(one);
      continue;
    }
    if (end > 0) add({ ...one, text: one.text.slice(0, end) });
    if (end < one.text.length) {
      result.push([]);
      chars = 0;
      add({ ...one, text: one.text.slice(end) });
    }
  }
  return result;
}
