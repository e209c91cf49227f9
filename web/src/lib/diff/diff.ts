/**
 * Finds the words in which two answers differ. The search for the shortest difference has a time limit: two long texts
 * with little in common are then compared sentence by sentence; if that takes too long as well, the result says so.
 */

import { alike, ended } from "./alike";

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
  | { first: Differing[]; second: Differing[]; by: "words" | "sentences"; share: number }
  | { refused: string };

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

export const difference = (...args: Parameters<typeof comparison>): Difference => ended(comparison(...args));

/** Find the difference in small steps. */
export function* comparison(
  first: readonly DiffPiece[],
  second: readonly DiffPiece[],
  limitMs = LIMIT_MS,
): Generator<undefined, Difference> {
  for (const by of ["words", "sentences"] as const) {
    const pattern = by === "words" ? WORDS : SENTENCES;
    const sides = { first: yield* tokens(first, pattern), second: yield* tokens(second, pattern) };
    const both = yield* alike(sides.first, sides.second, limitMs);
    if (both === null) continue;
    const firstParts = put(first, sides.first, both.first);
    return { first: firstParts, second: put(second, sides.second, both.second), by, share: shareOf(firstParts) };
  }
  return { refused: "they are too long and have too little in common" };
}

function* tokens(pieces: readonly DiffPiece[], pattern: RegExp): Generator<undefined, string[]> {
  const result: string[] = [];
  for (const { role, kind, text } of pieces) {
    result.push(`${HEAD}${role}\u0000${kind}`);
    for (const [token] of text.matchAll(pattern)) result.push(WORD + token);
    yield;
  }
  return result;
}

/** Put the words of one side back into their stretches. */
function put(pieces: readonly DiffPiece[], words: readonly string[], flags: Uint8Array): Differing[] {
  const result: Differing[] = [];
  words.forEach((token, at) => {
    const isSame = flags[at] === 1;
    const of = pieces[result.length];
    const word = token.slice(WORD.length);
    if (token.startsWith(HEAD) && of !== undefined) {
      const { text: _, ...rest } = of;
      result.push({ ...rest, stretches: [] });
      return;
    }
    const into = result.at(-1)?.stretches;
    const last = into?.at(-1);
    if (last !== undefined && last.isSame === isSame) last.text += word;
    else into?.push({ text: word, isSame });
  });
  for (const one of result) one.stretches = bridged(one.stretches);
  return result;
}

/** White space between two differing words counts as different: otherwise a sentence would look chopped. */
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

/** Stretches in blocks of about `size` characters, cut at ends of lines if possible. */
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
