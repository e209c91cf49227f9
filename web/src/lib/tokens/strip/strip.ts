/** A series along the positions of its tokens, in as many columns as a chart has pixels. */

import { strengthOf, type TokenScale } from "../scale";

export interface Strip {
  /** The mean strength in each column; NaN without a value. */
  mean: Float32Array;
  /** The greatest strength in each column, from 0 to 1; NaN without a value. */
  up: Float32Array;
  /** The same on the lower side of a scale with two sides; else 0. */
  down: Float32Array;
}

/** The column of a token. */
export const columnOf = (token: number, count: number, columns: number): number =>
  Math.min(columns - 1, Math.floor((token * columns) / count));

/** The token at a place from 0 to 1. */
export const tokenAtPlace = (place: number, count: number): number =>
  Math.max(0, Math.min(count - 1, Math.floor(place * count)));

/** The columns of a series; tokens that are not trained are absent. */
export function stripOf(values: Float64Array, trained: Uint8Array, scale: TokenScale, columns: number): Strip {
  const up = new Float32Array(columns).fill(NaN);
  const down = new Float32Array(columns);
  const mean = new Float32Array(columns);
  const many = new Uint32Array(columns);
  const count = trained.length;
  for (let token = 0; token < count; token += 1) {
    if (trained[token] !== 1) continue;
    const strength = strengthOf(scale, values[token] ?? NaN);
    if (Number.isNaN(strength)) continue;
    const column = columnOf(token, count, columns);
    mean[column] = (mean[column] ?? 0) + strength;
    many[column] = (many[column] ?? 0) + 1;
    const highest = up[column] ?? NaN;
    if (!(highest >= strength)) up[column] = Math.max(0, strength);
    if (strength < 0) down[column] = Math.max(down[column] ?? 0, -strength);
  }
  return { up, down, mean: mean.map((sum, column) => sum / (many[column] ?? 0)) };
}

/** The columns with a flagged token. */
export function flaggedColumns(flags: Uint8Array, columns: number): number[] {
  const found: number[] = [];
  for (let token = 0; token < flags.length; token += 1) {
    if (flags[token] !== 1) continue;
    const column = columnOf(token, flags.length, columns);
    if (found.at(-1) !== column) found.push(column);
  }
  return found;
}

/** The token with the strongest value around a place: a press near a peak means the peak. */
export function peakNear(
  values: Float64Array,
  trained: Uint8Array,
  scale: TokenScale,
  place: number,
  reach: number,
): number {
  const count = trained.length;
  const at = tokenAtPlace(place, count);
  const first = tokenAtPlace(place - reach, count);
  const last = tokenAtPlace(place + reach, count);
  const strength = (token: number): number =>
    trained[token] === 1 ? Math.abs(strengthOf(scale, values[token] ?? NaN)) || 0 : -1;
  let best = at;
  for (let token = first; token <= last; token += 1) if (strength(token) > strength(best)) best = token;
  return best;
}

/** The mean and the largest of the values of trained tokens; NaN without one. */
export function meanAndMost(values: Float64Array, trained: Uint8Array): { mean: number; most: number } {
  let [sum, found, most] = [0, 0, NaN];
  for (let token = 0; token < trained.length; token += 1) {
    const value = values[token] ?? NaN;
    if (trained[token] !== 1 || Number.isNaN(value)) continue;
    sum += value;
    found += 1;
    if (!(most >= value)) most = value;
  }
  return { mean: sum / found, most };
}
