/** Long text in pieces, so that a browser lays out only what is on the screen. */

/** Above this a text is drawn in pieces. */
export const WHOLE_CHARS = 200_000;
const PIECE_CHARS = 16_000;

/** Cut a text at line ends into pieces of about `size` characters; a longer line is cut at a space, else anywhere. */
export function chunks(text: string, size = PIECE_CHARS): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > size) {
    const stop = cut(text, start, start + size);
    pieces.push(text.slice(start, stop));
    start = stop;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function cut(text: string, start: number, limit: number): number {
  for (const mark of ["\n", " "]) {
    const found = text.lastIndexOf(mark, limit - 1);
    if (found >= start + (limit - start) / 4) return found + 1;
  }
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code < 0xdc00 ? limit - 1 : limit;
}

/** About how many lines a text fills at so many characters a line. */
export function lines(text: string, width: number): number {
  let rows = 1;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) rows += 1;
  return Math.max(rows, Math.ceil(text.length / width));
}
