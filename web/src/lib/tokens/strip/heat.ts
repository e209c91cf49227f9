/** Series as rows of a heat map that shows all tokens at once, in as many cells as fit. */

import { FLAGS, FIRST, type Series, type TokenSample } from "../sample/tokenSample";
import { levelOf, SAME, scaleOf, sorted, type TokenScale, usualScale } from "../scale";
import { columnOf } from "./strip";

/** A row: a level in each cell, `NO_LEVEL` without a value. */
export interface HeatRow {
  levels: Int8Array;
  isTwoSided: boolean;
}

/** With this many tokens in a cell, one always stands out. */
const CROWDED = 4;

/**
 * The row of a series in at most `cells` cells, each with the worst value of its trained tokens. If cells hold many
 * tokens, a cell stands out among these worst values, not among all values.
 */
export function heatRow(
  { name, values: all }: Series,
  { start, count, trained }: Pick<TokenSample, "start" | "count" | "trained">,
  scale: TokenScale,
  most: number,
  isUsual: boolean,
): HeatRow {
  const cells = Math.max(1, Math.min(count - start, most));
  const values = worstOf(all.subarray(start, count), trained.subarray(start, count), scale, cells);
  const isCrowded = isUsual && count - start > CROWDED * cells;
  const own = isCrowded
    ? scaleOf(
        sorted(values, () => true),
        usualScale(scale.kind),
        name,
      )
    : scale;
  return { levels: Int8Array.from(values, (value) => levelOf(own, value)), isTwoSided: own.middle !== null };
}

/** For each cell, the worst value of a trained token, on the side where tints grow; NaN without one. */
export function worstOf(
  values: Float64Array,
  trained: Uint8Array,
  { middle, isDown }: TokenScale,
  cells: number,
): Float64Array {
  const found = new Float64Array(cells).fill(NaN);
  const furthest = new Float64Array(cells).fill(-Infinity);
  for (let token = 0; token < trained.length; token += 1) {
    const value = values[token] ?? NaN;
    if (trained[token] !== 1 || Number.isNaN(value)) continue;
    const far = middle === null ? (isDown ? -value : value) : Math.abs(middle === 1 ? Math.log(value) : value);
    const cell = columnOf(token, trained.length, cells);
    if (!(far >= (furthest[cell] ?? 0))) continue;
    furthest[cell] = far;
    found[cell] = value;
  }
  return found;
}

/** The most informative series, in the order of the table: series that vary, without flags and differences. */
export function telling(tokens: TokenSample, most: number, except: string): Series[] {
  const rank = ({ name }: Series): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const found: Series[] = [];
  for (const series of tokens.series.toSorted((one, other) => rank(one) - rank(other))) {
    if (found.length === most) break;
    if (series.name === except || series.origin === "difference" || FLAGS.has(series.name)) continue;
    if (varies(series.values, tokens.trained)) found.push(series);
  }
  return tokens.rows().filter((one) => found.includes(one));
}

/** True if two trained tokens have different values. */
function varies(values: Float64Array, trained: Uint8Array): boolean {
  let first = NaN;
  for (let token = 0; token < trained.length; token += 1) {
    const value = values[token] ?? NaN;
    if (trained[token] !== 1 || !Number.isFinite(value)) continue;
    if (Number.isNaN(first)) first = value;
    else if (Math.abs(value - first) > SAME * Math.max(Math.abs(value), Math.abs(first))) return true;
  }
  return false;
}
