/** The grid of prompts by steps: texts of cells, visible columns, and effects of keys. */

import { figure } from "../../lib/numbers/numbers";

export const CELL_PX = 24;
export const ROW_PX = 32;
/** Columns drawn beyond the edges of the screen. */
const BEYOND = 6;

/** The answers to a prompt at a step: no answers, none with a value, none correct, some correct, all correct. */
export type Mark = "absent" | "untold" | "none" | "some" | "all";

export function markOf(n: number, c: number): Mark {
  if (n < 0) return "absent";
  if (n === 0) return "untold";
  if (c === 0) return "none";
  return c === n ? "all" : "some";
}

export function describeCell(n: number, c: number, step: number): string {
  const where = `step ${figure(step)}`;
  const mark = markOf(n, c);
  if (mark === "absent") return `${where}: not asked`;
  return mark === "untold" ? `${where}: no answer has a value` : `${where}: ${figure(c)} of ${figure(n)} correct`;
}

export interface Span {
  first: number;
  stop: number;
}

/** The visible columns, and a few beyond. */
export function columnsOn(scrollLeft: number, width: number, count: number): Span {
  const first = Math.max(0, Math.floor(scrollLeft / CELL_PX) - BEYOND);
  return { first: Math.min(first, count), stop: Math.min(count, Math.ceil((scrollLeft + width) / CELL_PX) + BEYOND) };
}

/**
 * The number of columns from one label to the next, without overlap. Steps ascend, so the first or the last has the
 * longest label.
 */
export function labelEvery(steps: readonly number[]): number {
  const digits = Math.max(figure(steps[0] ?? 0).length, figure(steps.at(-1) ?? 0).length);
  return Math.max(1, Math.ceil((digits * 7 + 6) / CELL_PX));
}

export interface Spot {
  row: number;
  column: number;
}

const MOVES: Record<string, (at: Spot, rows: number, columns: number) => Spot> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  PageUp: ({ row, column }) => ({ row: row - 10, column }),
  PageDown: ({ row, column }) => ({ row: row + 10, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }, _, columns) => ({ row, column: columns - 1 }),
};

/** The cell that a key leads to; null for other keys. */
export function moved(key: string, at: Spot, rows: number, columns: number): Spot | null {
  const to = MOVES[key]?.(at, rows, columns);
  if (to === undefined) return null;
  const within = (value: number, count: number): number => Math.min(Math.max(0, count - 1), Math.max(0, value));
  return { row: within(to.row, rows), column: within(to.column, columns) };
}

/** The points of a line over its steps, in a box of 1 by 1, for SVG; it has gaps where values are missing. */
export function line(values: readonly (number | null)[], steps: readonly number[]): string {
  const [low, high] = [steps[0] ?? 0, steps.at(-1) ?? 1];
  let isOpen = false;
  return values
    .flatMap((value, i) => {
      if (value === null) {
        isOpen = false;
        return [];
      }
      const x = high === low ? 0.5 : ((steps[i] ?? 0) - low) / (high - low);
      const at = `${x.toFixed(4)} ${(1 - Math.min(1, Math.max(0, value))).toFixed(4)}`;
      const wasOpen = isOpen;
      isOpen = true;
      return [wasOpen ? `L${at}` : `M${at}h0`]; // a line without length, with round ends, is a dot
    })
    .join("");
}
