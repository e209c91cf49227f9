/** A heat map of a distribution: its cells, the shade of each, and what a cell says. */

import type { DistributionReply } from "../../api/types.gen";
import { count, figure } from "../numbers/numbers";
import { rangesOf, wordsOf } from "./distribution";

/** A cell by its column, from the left, and its bin, from the foot. */
export interface Cell {
  readonly column: number;
  readonly bin: number;
}

/** The share of the samples of its column, from 0 to 1; a column may cover more samples than another. */
export function shareAt({ counts }: DistributionReply, { column, bin }: Cell): number {
  const own = counts[column] ?? [];
  const all = own.reduce((sum, one) => sum + one, 0);
  return all === 0 ? 0 : (own[bin] ?? 0) / all;
}

/** What the top of the map is: the greatest value, where that is known and in the last bin; else the end of the bin. */
export function topOf({ edges }: DistributionReply, most: number | null): number {
  const [from = NaN, to = NaN] = edges.slice(-2);
  return most !== null && most >= from && most < to ? most : to;
}

/** How strong the colour of a share is: small shares remain visible. */
export const shadeOf = (share: number): number => (share === 0 ? 0 : 0.08 + 0.92 * Math.sqrt(share));

/** The cell under a point, whose place is a share of the width and of the height, from the top left. */
export function cellAt({ counts, edges }: DistributionReply, x: number, y: number): Cell | null {
  const bins = edges.length - 1;
  if (counts.length === 0 || bins < 1 || x < 0 || x > 1 || y < 0 || y > 1) return null;
  const within = (place: number, most: number): number => Math.min(most - 1, Math.floor(place * most));
  return { column: within(x, counts.length), bin: within(1 - y, bins) };
}

/** The next cell in a direction, within the map. */
export function neighbourOf({ counts, edges }: DistributionReply, { column, bin }: Cell, key: string): Cell | null {
  const [right, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key] ?? [];
  if (right === undefined || up === undefined) return null;
  const within = (place: number, most: number): number => Math.max(0, Math.min(most - 1, place));
  return { column: within(column + right, counts.length), bin: within(bin + up, edges.length - 1) };
}

/** The steps of a column, in words. */
export function stepsOf({ first_steps: firsts, last_steps: lasts }: DistributionReply, column: number): string {
  const [first, last] = [firsts[column] ?? 0, lasts[column] ?? 0];
  return first === last ? `step ${figure(first)}` : `steps ${figure(first)} to ${figure(last)}`;
}

/** What a cell says of its column. */
export function samplesAt({ counts, edges }: DistributionReply, cell: Cell): string {
  const range = rangesOf(edges)[cell.bin];
  const own = counts[cell.column] ?? [];
  const all = own.reduce((sum, one) => sum + one, 0);
  return `${range === undefined ? "" : wordsOf(range)} · ${figure(own[cell.bin] ?? 0)} of ${count(all, "sample")}`;
}

/** What a cell says. */
export const wordsAt = (of: DistributionReply, cell: Cell): string =>
  `${stepsOf(of, cell.column)} · ${samplesAt(of, cell)}`;
