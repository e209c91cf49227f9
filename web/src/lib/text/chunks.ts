/**
 * Divides text into pieces, so that a browser lays out only those on the screen, each quickly.
 *
 * The cost of a paragraph grows faster than its length if it has no place to cut: joining letters (Arabic), stacked
 * marks, lines without spaces. In Chromium 156 a piece of 4,000 characters takes at most 100 ms whatever its content,
 * one of 16,000 a second.
 */

/** Longer text is drawn in pieces. */
export const WHOLE_CHARS = 4_000;
/** Without an end of a line or word, a piece is shorter: text with joining letters throughout costs most. */
const UNBROKEN_CHARS = 1_000;
/** Thousands of characters without width would share a line, all on the screen. */
const CROWDED_CHARS = 100;
/** The most pieces: texts of many megabytes get longer pieces instead. */
const MOST_PIECES = 4_000;

const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;
const [TAB, NEWLINE] = [9, 10];
const MARK = /\p{M}|\p{Emoji_Modifier}|\u200d/u;

/** Cut a text at line ends into pieces of at most `size` characters; cut a longer line at a space, or anywhere. */
export function chunks(text: string, size = Math.max(WHOLE_CHARS, Math.ceil(text.length / MOST_PIECES))): string[] {
  const pieces: string[] = [];
  let start = 0;
  do {
    const stop = start + size < text.length ? cut(text, start, size) : text.length;
    const piece = text.slice(start, stop);
    if (isCrowded(piece)) pieces.push(...sliced(piece, (size * CROWDED_CHARS) / WHOLE_CHARS));
    else pieces.push(piece);
    start = stop;
  } while (start < text.length);
  return pieces;
}

function sliced(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let start = 0, stop = 0; start < text.length; start = stop) {
    stop = start + size < text.length ? whole(text, start, start + size) : text.length;
    pieces.push(text.slice(start, stop));
  }
  return pieces;
}

/** True if a text is drawn in pieces and one of them ends within a line. */
export function cutsLines(text: string): boolean {
  return (
    text.length > WHOLE_CHARS &&
    chunks(text)
      .slice(0, -1)
      .some((piece) => !piece.endsWith("\n"))
  );
}

/** True if at least half of a text has no width. */
function isCrowded(text: string): boolean {
  if (text.length <= CROWDED_CHARS) return false;
  const half = text.length / 2;
  let count = 0;
  for (let at = 0; at < text.length && count + text.length - at >= half; at += 1) {
    const code = text.charCodeAt(at);
    if (code === TAB || code === NEWLINE) continue; // a blank has a width, a line break ends the line
    if (code < 0xa0 ? code < 0x20 || code >= 0x7f : !isIdeograph(code) && hasNoWidth(text, at)) count += 1;
  }
  return count >= half;
}

/** Chinese and Korean: a test of a pattern for each of millions takes a while. */
const isIdeograph = (code: number): boolean => (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4);

function hasNoWidth(text: string, at: number): boolean {
  const code = text.codePointAt(at) ?? 0;
  return NO_WIDTH.test(String.fromCodePoint(code));
}

/** The end of a piece that begins at `start`. */
function cut(text: string, start: number, size: number): number {
  // searching backwards through the whole text would take longer for each piece
  const near = text.slice(start, start + size);
  const newline = near.lastIndexOf("\n");
  if (newline >= 0) return start + newline + 1;
  const space = near.lastIndexOf(" ");
  if (space >= size / 4) return start + space + 1;
  return whole(text, start, start + (size * UNBROKEN_CHARS) / WHOLE_CHARS);
}

/** The number of preceding characters that may belong to the character at a cut. */
const BACK = 16;

/** The place, or one slightly before it that neither splits a character nor separates a mark from its base. */
function whole(text: string, start: number, limit: number): number {
  const at = Math.floor(limit);
  for (let stop = at; stop > Math.max(start, at - BACK); stop -= 1) {
    const joins = MARK.test(String.fromCodePoint(text.codePointAt(stop) ?? 0)) || text.charAt(stop - 1) === "\u200d";
    if (!isInside(text, stop) && !joins) return stop;
  }
  return isInside(text, at) ? at - 1 : at;
}

/** True between the two halves of one character. */
function isInside(text: string, place: number): boolean {
  const before = text.charCodeAt(place - 1);
  const after = text.charCodeAt(place);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

/** The approximate number of lines of a text, at a number of characters for each line. */
export function lines(text: string, width: number): number {
  let rows = 1;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) rows += 1;
  return Math.max(rows, Math.ceil(text.length / width));
}
