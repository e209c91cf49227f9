/** A heat map of a distribution: its cells, with their shades and words. */

import type { DistributionReply } from "../../api/types.gen";
import { count, figure } from "../numbers/numbers";
import { paddedCounts, paddedEdges, rangesOf, wordsOf } from "./distribution";

/** A cell by its column, from the left, and its bin, from the foot. */
export interface Cell {
  readonly column: number;
  readonly bin: number;
}

/** The columns of a range of steps; the whole map without a range, or if no column is in it. */
export function between(map: DistributionReply, range: readonly [low: number, high: number] | null): DistributionReply {
  if (range === null) return map;
  const first = map.last_steps.findIndex((step) => step >= range[0]);
  const stop = map.first_steps.findLastIndex((step) => step <= range[1]) + 1;
  if (first < 0 || stop <= first) return map;
  const { first_steps, last_steps, counts } = map;
  return {
    ...map,
    first_steps: first_steps.slice(first, stop),
    last_steps: last_steps.slice(first, stop),
    counts: counts.slice(first, stop),
  };
}

/**
 * The map without outlying bins, and the number of samples in them. As in curves, outliers lie beyond the quartiles by
 * more than a multiple of their distance. A bin with a value inside stays, and so do the medians of the first columns,
 * where a run learns. With equal quartiles all bins stay.
 */
export function withoutOutliers(map: DistributionReply, factor: number): { map: DistributionReply; leftOut: number } {
  const { edges, counts } = map;
  const totals = edges.slice(1).map((_, bin) => counts.reduce((sum, own) => sum + (own[bin] ?? 0), 0));
  const all = sumOf(totals);
  const [low, high] = [quartile(edges, totals, all, 0.25), quartile(edges, totals, all, 0.75)];
  if (factor <= 0 || low.bin === high.bin) return { map, leftOut: 0 };
  const by = factor * (high.value - low.value);
  const isIn = totals.map(
    (one, bin) => one > 0 && (edges[bin + 1] ?? 0) > low.value - by && (edges[bin] ?? 0) <= high.value + by,
  );
  for (const own of counts) {
    const { bin } = quartile(edges, own, sumOf(own), 0.5);
    if (isIn[bin] !== false) break;
    isIn[bin] = true;
  }
  const [first, stop] = [isIn.indexOf(true), isIn.lastIndexOf(true) + 1];
  const kept = sumOf(totals.slice(first, stop));
  if (kept === all) return { map, leftOut: 0 };
  const cut = { ...map, edges: edges.slice(first, stop + 1), counts: counts.map((own) => own.slice(first, stop)) };
  return { map: cut, leftOut: all - kept };
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0);

/** A quantile of the samples: the middle of its bin. */
function quartile(edges: readonly number[], totals: readonly number[], all: number, share: number) {
  let below = 0;
  const bin = totals.findIndex((one) => {
    below += one;
    return one > 0 && below >= share * all;
  });
  return { bin, value: ((edges[bin] ?? 0) + (edges[bin + 1] ?? 0)) / 2 };
}

/** The cells of a map as a file: a line for each cell with samples. */
export function csvOf({ first_steps: firsts, last_steps: lasts, edges, counts }: DistributionReply): string {
  const lines = counts.flatMap((own, column) =>
    own.flatMap((samples, bin) =>
      samples === 0 ? [] : [[firsts[column], lasts[column], edges[bin], edges[bin + 1], samples].join(",")],
    ),
  );
  return `${["first_step,last_step,from,to,samples", ...lines].join("\n")}\n`;
}

/** The map with empty bins around a single one. */
export function padded(map: DistributionReply): DistributionReply {
  const { edges, before, after } = paddedEdges(map.edges);
  return before === 0 ? map : { ...map, edges, counts: map.counts.map((own) => paddedCounts(own, before, after)) };
}

/** The share of a cell in its column, from 0 to 1, because columns may have unequal numbers of samples. */
export function shareAt({ counts }: DistributionReply, { column, bin }: Cell): number {
  const own = counts[column] ?? [];
  const all = own.reduce((sum, one) => sum + one, 0);
  return all === 0 ? 0 : (own[bin] ?? 0) / all;
}

/** The greatest share of all cells. */
export const greatestShare = ({ counts }: DistributionReply): number =>
  counts.reduce((most, own) => {
    const all = own.reduce((sum, one) => sum + one, 0);
    return all === 0 ? most : Math.max(most, Math.max(...own) / all);
  }, 0);

/** The greatest value if it is known and in the last bin; it may be that of other steps. */
export function greatestIn({ edges }: DistributionReply, most: number | null): number | null {
  const [from = NaN, to = NaN] = edges.slice(-2);
  return most !== null && most >= from && most < to ? most : null;
}

/** The strength of the colour of a share: small shares remain visible. */
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

/** The words of a cell without its column. */
export function samplesAt({ counts, edges }: DistributionReply, cell: Cell): string {
  const range = rangesOf(edges)[cell.bin];
  const own = counts[cell.column] ?? [];
  const all = own.reduce((sum, one) => sum + one, 0);
  return `${range === undefined ? "" : wordsOf(range)} · ${figure(own[cell.bin] ?? 0)} of ${count(all, "sample")}`;
}

/** The words of a cell. */
export const wordsAt = (of: DistributionReply, cell: Cell): string =>
  `${stepsOf(of, cell.column)} · ${samplesAt(of, cell)}`;
