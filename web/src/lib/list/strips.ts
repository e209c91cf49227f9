/** Strips of cells, one for each column of the list: how many fit side by side, their widths, and their lines. */

/** Nobody could distinguish more cells: a group's other samples are in the list of samples. */
export const MOST_CELLS = 64;

/** The width of a cell, and the greatest width of a strip of such cells. */
interface Pitch {
  px: number;
  most: number;
}

/** One strip, beside the prompt. */
const ALONE: Pitch = { px: 10, most: 128 };
/** The first of several strips below the prompt is the largest: readers look at it first. */
const FIRST: Pitch = { px: 9, most: 128 };
const OTHER: Pitch = { px: 5, most: 96 };
/** The room for the number of samples without a cell. */
const REST_PX = 40;

/** The room beside the strips: the edges of a row, and the column of means. */
const BESIDE_PX = 24 + 64 + 10;
const GAP_PX = 6;

/** A narrower list has only the first column: prompts need the room. */
const LEAST_PX = 300;

const LETTER_PX = 6.4;
const MOST_WORDS_PX = 74;

/** A column that is drawn as strips: the words above them, and the number of characters in the scale above them. */
export interface Column {
  name: string;
  words: string;
  signs: number;
}

export interface Laid<C extends Column> {
  strips: readonly (C & { px: number })[];
  /** True for one strip beside two lines of the prompt; several strips are below one line of it. */
  isBeside: boolean;
  /** Lines of strips. */
  lines: number;
}

interface Given<C> {
  /** The most important column first. */
  columns: readonly C[];
  /** Samples of a group. */
  samples: number;
  /** The width of the list. */
  px: number;
  /** True: only the strips that fit; false: all strips, in as many lines as they need. */
  isFitted: boolean;
}

export function laid<C extends Column>({ columns, samples, px, isFitted }: Given<C>): Laid<C> {
  const all = columns.map((column, i) => ({
    ...column,
    px: Math.max(i === 0 ? stripPx(samples, FIRST) : cellsPx(samples, OTHER), headPx(column)),
  }));
  const room = px - BESIDE_PX;
  const strips = isFitted ? all.slice(0, px < LEAST_PX ? 1 : Math.max(1, ofLine(all, room))) : all;
  const [first] = strips;
  if (first !== undefined && strips.length === 1)
    return { strips: [{ ...first, px: stripPx(samples, ALONE) }], isBeside: true, lines: 1 };
  let lines = 0;
  for (let at = 0; at < strips.length; at += Math.max(1, ofLine(strips.slice(at), room))) lines += 1;
  return { strips: lines === 1 ? widened(strips, room) : strips, isBeside: strips.length === 0, lines };
}

/** Gives the spare room of a line to shortened words. */
function widened<C extends Column & { px: number }>(strips: readonly C[], room: number): C[] {
  let spare = room - strips.reduce((used, { px }) => used + GAP_PX + px, -GAP_PX);
  return strips.map((strip) => {
    const more = Math.max(0, Math.min(spare, wordsPx(strip) - strip.px));
    spare -= more;
    return { ...strip, px: strip.px + more };
  });
}

const cellsPx = (samples: number, { px, most }: Pitch): number => Math.min(most, samples * px);

/** The first strip says how many samples have no cell. */
const stripPx = (samples: number, pitch: Pitch): number =>
  cellsPx(samples, pitch) + (samples > MOST_CELLS ? REST_PX : 0);

const wordsPx = ({ words, signs }: Column): number => Math.ceil(LETTER_PX * Math.max(words.length, signs)) + 2;

const headPx = (column: Column): number => Math.min(MOST_WORDS_PX, wordsPx(column));

/** How many of the first strips fit into a line. */
function ofLine(strips: readonly { px: number }[], room: number): number {
  let used = -GAP_PX;
  const over = strips.findIndex(({ px }) => (used += GAP_PX + px) > room);
  return over < 0 ? strips.length : over;
}

/** The height of a row by its lines of strips. */
export const groupPx = ({ isBeside, lines }: Pick<Laid<Column>, "isBeside" | "lines">): number =>
  isBeside ? 52 : 34 + 18 * lines;
