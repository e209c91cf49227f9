/** The answer that the model marked as such; the last one counts. */

import type { TurnView } from "../../api/types.gen";

/** Longer answers are only shown in their place. */
const MOST_CHARS = 300;

const BOXED = "\\boxed{";

/** The answer between tags, else in the last box; empty without one, or for a long one. */
export function answerOf(turns: readonly TurnView[]): string {
  const parts = turns
    .filter(({ origin, role }) => origin === "response" && role === "assistant")
    .flatMap((turn) => turn.parts);
  const marked =
    parts.findLast(({ kind }) => kind === "answer")?.text ??
    boxed(parts.findLast(({ kind, text }) => kind === "text" && text.includes(BOXED))?.text ?? "");
  const text = marked.trim();
  return text.length > MOST_CHARS ? "" : text;
}

/** The content of the last box in a text, with paired braces. */
function boxed(text: string): string {
  const start = text.lastIndexOf(BOXED) + BOXED.length;
  if (start < BOXED.length) return "";
  let depth = 1;
  for (let at = start; at < Math.min(text.length, start + MOST_CHARS); at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(start, at);
  }
  return "";
}
