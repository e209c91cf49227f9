/** A text by lines: its fenced code, and pieces cut at the ends of paragraphs, which can be rendered one by one. */

const PIECE_CHARS = 8_000;
/** A piece without an end is cut at this length. */
const MAX_PIECE = 60_000;

export interface Fence {
  start: number;
  stop: number;
  info: string;
  code: string;
}

interface Line {
  start: number;
  stop: number;
  /** The beginning of the line, trimmed. */
  words: string;
}

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf("\n", start);
    const stop = newline < 0 ? text.length : newline + 1;
    yield { start, stop, words: text.slice(start, Math.min(stop, start + 300)).trim() };
    start = stop;
  }
}

/** Follows fences from line to line. */
class Fences {
  mark = "";

  /** The effect of a line: it begins a fence, ends one, or neither. */
  read(words: string): "begins" | "ends" | null {
    const mark = /^(?:`{3,}|~{3,})/.exec(words)?.[0] ?? "";
    if (mark === "") return null;
    if (this.mark !== "") {
      if (!mark.startsWith(this.mark) || words !== mark) return null;
      this.mark = "";
      return "ends";
    }
    if (mark.startsWith("`") && words.includes("`", mark.length)) return null;
    this.mark = mark;
    return "begins";
  }
}

/** Every fenced block of code; an unclosed one reaches to the end. */
export function fences(text: string): Fence[] {
  const result: Fence[] = [];
  const state = new Fences();
  let open: { start: number; body: number; info: string } | null = null;
  for (const { start, stop, words } of linesOf(text)) {
    const does = state.read(words);
    if (does === "begins") open = { start, body: stop, info: words.replace(/^[`~]+/, "").trim() };
    else if (does === "ends" && open !== null) {
      result.push({ start: open.start, stop, info: open.info, code: text.slice(open.body, start).replace(/\n$/, "") });
      open = null;
    }
  }
  if (open !== null)
    result.push({ start: open.start, stop: text.length, info: open.info, code: text.slice(open.body) });
  return result;
}

/** Cut a text into pieces that can be rendered one by one; joined, they are the text. */
export function pieces(text: string): string[] {
  if (text.length <= PIECE_CHARS) return [text];
  const result: string[] = [];
  const state = new Fences();
  let from = 0;
  let isMath = false;
  for (const { start, stop, words } of linesOf(text)) {
    state.read(words);
    if (state.mark === "" && words === "$$") isMath = !isMath;
    const isEnd = words === "" && stop - start < 300 && state.mark === "" && !isMath;
    if ((isEnd && stop - from >= PIECE_CHARS) || stop - from >= MAX_PIECE) {
      result.push(text.slice(from, stop));
      from = stop;
    }
  }
  if (from < text.length) result.push(text.slice(from));
  return result;
}
