/** Two unified diffs side by side: their files, and the lines in which the changes of a file differ. */

import { alike, ended } from "./alike";

export interface ComparedFile {
  path: string;
  /** The diffs that change the file, and whether they agree. */
  state: "differs" | "first" | "second" | "same";
  first: readonly string[];
  second: readonly string[];
}

/** A line of each side; null where a side has none. */
export interface ComparedLine {
  first: string | null;
  second: string | null;
  isSame: boolean;
}

const ORDER = ["differs", "first", "second", "same"] as const;
const GIT = /^diff --git (?:"?a\/.*?"?) "?b\/(.*?)"?$/;
const NEW = /^\+\+\+ (?:"?b\/)?([^\t"]*)/;
const LIMIT_MS = 1000;

/** The lines of each file of a unified diff; lines before the first file have an empty path. */
export function filesOf(diff: string): Map<string, string[]> {
  const files = new Map<string, string[]>();
  const lines = diff === "" ? [] : diff.replace(/\n$/, "").split("\n");
  const isGit = lines.some((line) => GIT.test(line));
  let current = "";
  lines.forEach((line, at) => {
    const next = lines[at + 1] ?? "";
    if (isGit) current = GIT.exec(line)?.[1] ?? current;
    else if (line.startsWith("--- ") && next.startsWith("+++ ")) current = NEW.exec(next)?.[1] ?? current;
    const own = files.get(current);
    if (own === undefined) files.set(current, [line]);
    else own.push(line);
  });
  return files;
}

/** The files of two diffs, those that differ first. */
export function comparedFiles(first: string, second: string): ComparedFile[] {
  const [left, right] = [filesOf(first), filesOf(second)];
  const files = [...new Set([...left.keys(), ...right.keys()])].map((path): ComparedFile => {
    const [a, b] = [left.get(path) ?? [], right.get(path) ?? []];
    const isSame = a.length === b.length && a.every((line, at) => line === b[at]);
    return {
      path,
      state: isSame ? "same" : b.length === 0 ? "first" : a.length === 0 ? "second" : "differs",
      first: a,
      second: b,
    };
  });
  return ORDER.flatMap((state) => files.filter((file) => file.state === state));
}

/** Lines side by side. If comparing takes too long, all of them differ. */
export function comparedLines(first: readonly string[], second: readonly string[], limitMs = LIMIT_MS): ComparedLine[] {
  const both = ended(alike(first, second, limitMs));
  const result: ComparedLine[] = [];
  let [left, right] = [0, 0];
  while (left < first.length || right < second.length) {
    const [hasLeft, hasRight] = [both?.first[left] !== 1, both?.second[right] !== 1];
    const isSame = !hasLeft && !hasRight;
    const [one, other] = [first[left] ?? null, second[right] ?? null];
    result.push({ first: isSame || hasLeft ? one : null, second: isSame || hasRight ? other : null, isSame });
    if (isSame || hasLeft) left += 1;
    if (isSame || hasRight) right += 1;
  }
  return result;
}

/** The lines in stretches: differing lines with a few lines of context, and equal lines between them. */
export function stretchesOf(
  lines: readonly ComparedLine[],
  around = 3,
): { isFolded: boolean; lines: ComparedLine[] }[] {
  const isNear = lines.map(() => false);
  lines.forEach(({ isSame }, at) => {
    if (!isSame) isNear.fill(true, Math.max(0, at - around), at + around + 1);
  });
  const result: { isFolded: boolean; lines: ComparedLine[] }[] = [];
  lines.forEach((line, at) => {
    const isFolded = isNear[at] !== true;
    const last = result.at(-1);
    if (last?.isFolded === isFolded) last.lines.push(line);
    else result.push({ isFolded, lines: [line] });
  });
  return result;
}
