/** Where to cut a long text so that its first and last lines show. */

const HEAD_LINES = 4;
const TAIL_LINES = 6;
/** Texts that are little longer are shown whole. */
const WHOLE_LINES = 14;
const WHOLE_CHARS = 3_000;
const END_CHARS = 1_000;

export interface Ends {
  /** Where the head ends and the tail begins. */
  head: number;
  tail: number;
  /** Whole lines between. */
  lines: number;
}

/** Null for a text that is shown whole; `more` adds so many lines to the head. */
export function ends(text: string, more = 0): Ends | null {
  if (more === Infinity) return null;
  const isShort = text.length <= WHOLE_CHARS && text.split("\n", WHOLE_LINES + 1).length <= WHOLE_LINES;
  if (isShort) return null;
  const head = whole(text, Math.min(after(text, HEAD_LINES + more), (more + HEAD_LINES) * END_CHARS));
  const tail = whole(text, Math.max(before(text, TAIL_LINES), text.length - TAIL_LINES * END_CHARS));
  if (tail <= head) return null;
  const between = text.slice(head, tail);
  return { head, tail, lines: between.split("\n").length - 1 };
}

/** The place after so many lines. */
function after(text: string, lines: number): number {
  let at = 0;
  for (let n = 0; n < lines; n += 1) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}

/** The place before the last lines; a newline at the end ends the last one. */
function before(text: string, lines: number): number {
  let at = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let n = 0; n < lines && at > 0; n += 1) at = text.lastIndexOf("\n", at - 1);
  return Math.max(0, at + 1);
}

/** A place that does not divide a character of two units. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000 ? at - 1 : at;
}
