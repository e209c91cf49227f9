/**
 * Text in pieces, so that a browser lays out only what is on the screen, and none of it for long.
 *
 * What a paragraph costs grows faster than its length where nothing in it can be cut: letters that join (Arabic),
 * stacks of marks, lines without a space. In Chromium 156 a piece of 4,000 characters takes at most 100 ms whatever it
 * holds, one of 16,000 a second.
 */

/** Above this a text is drawn in pieces. */
export const WHOLE_CHARS = 4_000;
/** Where neither a line nor a word ends, a piece is shorter: letters that join all the way cost most. */
const UNBROKEN_CHARS = 1_000;
/** What takes no width would stand on one line by the thousands, all of it on the screen. */
const CROWDED_CHARS = 200;
/** Many more pieces than these would be work by themselves: those of a text of many megabytes are longer. */
const MOST_PIECES = 4_000;

const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/gu;
const MARK = /\p{M}|\p{Emoji_Modifier}|\u200d/u;

/** Cut a text at line ends into pieces of at most `size` characters; a longer line is cut at a space, else anywhere. */
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

/** Whether a text is drawn in pieces, and one of them ends within a line. */
export function cutsLines(text: string): boolean {
  return (
    text.length > WHOLE_CHARS &&
    chunks(text)
      .slice(0, -1)
      .some((piece) => !piece.endsWith("\n"))
  );
}

/** True where half of a text or more takes no width. */
function isCrowded(text: string): boolean {
  return text.length > CROWDED_CHARS && (text.match(NO_WIDTH)?.length ?? 0) >= text.length / 2;
}

/** Where a piece that begins at `start` ends. */
function cut(text: string, start: number, size: number): number {
  // to look for a sign backwards in all of a text would take longer for each piece
  const near = text.slice(start, start + size);
  const newline = near.lastIndexOf("\n");
  if (newline >= 0) return start + newline + 1;
  const space = near.lastIndexOf(" ");
  if (space >= size / 4) return start + space + 1;
  return whole(text, start, start + (size * UNBROKEN_CHARS) / WHOLE_CHARS);
}

/** So many signs before a place may belong to the one that a cut would part them from. */
const BACK = 16;

/** The place, or one a little before it where no sign is cut in two and no mark parted from what it stands on. */
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

/** About how many lines a text fills at so many characters a line. */
export function lines(text: string, width: number): number {
  let rows = 1;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) rows += 1;
  return Math.max(rows, Math.ceil(text.length / width));
}
