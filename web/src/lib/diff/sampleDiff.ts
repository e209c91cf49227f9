/** Finds the words in which a sample's response and its reference differ, as places in the parts of their turns. */

import type { Span, TurnView } from "../../api/types.gen";
import type { Difference, Differing, DiffPiece } from "./diff";
import { lastWords } from "../text/endings";

/** The compared pieces of one side, and for each the name of its part. */
export interface Side {
  pieces: readonly DiffPiece[];
  names: readonly string[];
}

/** Kinds of parts that are shown as their text. */
const COMPARED: ReadonlySet<string> = new Set(["text", "answer", "think", "tool_call", "tool_result", "json"]);

/** More marks take long to draw, and nobody looks at them all. */
const MOST_MARKS = 2_000;

/** Longer texts are not compared. */
export const MOST_CHARS = 1_000_000;

/** If both sides share less, nearly every word would be marked. */
const LEAST_SHARE = 0.15;

/**
 * The turns of one side, without the special tokens at their ends. Its parts are named `PREFIX0.0` and so on; `from` is
 * the number of the first turn.
 */
export function sideOf(turns: readonly TurnView[], prefix: string, from = 0): Side {
  const pieces: DiffPiece[] = [];
  const names: string[] = [];
  turns.forEach(({ role, name, parts }, turn) => {
    const last = lastWords(parts);
    parts.forEach(({ kind, text, call }, place) => {
      const words = call !== null ? call.arguments : place === last.place ? last.text : text;
      if (!COMPARED.has(kind) || words === "" || (kind === "text" && place > last.place)) return;
      pieces.push({ turn, role, name, kind, text: words });
      names.push(`${prefix}${from + turn}.${place}`);
    });
  });
  return { pieces, names };
}

export const charsOf = ({ pieces }: Side): number => pieces.reduce((sum, { text }) => sum + text.length, 0);

export interface Marked {
  /** By the name of the part: the words that the other side lacks. Spans are in ascending order. */
  spans: ReadonlyMap<string, readonly Span[]>;
  by: "words" | "sentences";
  /** The share of the response that is in both. */
  share: number;
}

/** The marks for both sides, or the reason for having none. */
export function marksOf(difference: Difference, response: Side, reference: Side): Marked | { refused: string } {
  if ("refused" in difference) return difference;
  const { by, share } = difference;
  const spans = new Map([...spansOf(difference.first, response.names), ...spansOf(difference.second, reference.names)]);
  const all = [...spans.values()].flat();
  const alike =
    1 -
    all.reduce((sum, { start, stop }) => sum + stop - start, 0) / Math.max(1, charsOf(response) + charsOf(reference));
  if (alike < LEAST_SHARE)
    return { refused: `they differ too much: only ${Math.round(alike * 100)}% of the words are in both` };
  const count = all.length;
  if (count > MOST_MARKS) return { refused: `they differ in ${count.toLocaleString("en")} places, too many to mark` };
  return { spans, by, share };
}

function spansOf(differing: readonly Differing[], names: readonly string[]): [string, Span[]][] {
  return differing.flatMap(({ stretches }, i): [string, Span[]][] => {
    const at = names[i] ?? "";
    const changed: Span[] = [];
    let start = 0;
    for (const { text, isSame } of stretches) {
      const stop = start + text.length;
      if (!isSame) changed.push({ at, start, stop });
      start = stop;
    }
    return changed.length === 0 ? [] : [[at, changed]];
  });
}
