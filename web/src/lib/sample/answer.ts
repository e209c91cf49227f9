/** What the model gave as its answer, where it marked it: the last of its answers counts. */

import type { TurnView } from "../../api/types.gen";

/** A longer one is read where it stands. */
const MOST_CHARS = 300;

const BOXED = "\\boxed{";

/** The answer that stands between tags, else in the last box; empty where there is none, or a long one. */
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

/** What the last box of a text holds, its braces paired. */
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
