/** Draws a strip into a canvas, in the colours of the theme. */

import { columnOf, flaggedColumns, stripOf } from "../../../lib/tokens/strip/strip";
import { hueOf, type TokenScale } from "../../../lib/tokens/scale";
import { contextOf, inksOf } from "./inks";

interface Drawn {
  values: Float64Array;
  trained: Uint8Array;
  scale: TokenScale;
  /** The flags of the first and of the second rule. */
  flags: readonly Uint8Array[];
}

/** Room for the marks of rules, below the bars. */
const MARKS_PX = 10;
const MARK_PX = 3;
const LEAST_PX = 1;
const FAINT = 0.4;
export function drawStrip(canvas: HTMLCanvasElement, { values, trained, scale, flags }: Drawn): void {
  const { clientWidth: width, clientHeight: height, parentElement: parent } = canvas;
  const context = contextOf(canvas);
  if (context === null || parent === null) return;
  const ink = inksOf(parent);
  const { up, down, mean } = stripOf(values, trained, scale, width);
  const base = scale.middle === null ? height - MARKS_PX : (height - MARKS_PX) / 2;
  const bar = Math.max(1, width / trained.length - (width > 3 * trained.length ? 1 : 0));
  const above = ink(hueOf(1, scale.middle !== null));
  const draw = (column: number, strength: number): void => {
    const size = Math.max(LEAST_PX, Math.abs(strength) * base);
    context.fillStyle = strength < 0 ? ink("--div-neg") : above;
    context.fillRect(column, strength < 0 ? base : base - size, bar, size);
  };
  // In a column of many tokens, the extremes are faint and the mean is firm.
  const isCrowded = trained.length > width;
  for (let column = 0; column < width; column += 1) {
    const strength = up[column] ?? NaN;
    if (Number.isNaN(strength)) continue;
    context.globalAlpha = isCrowded ? FAINT : 1;
    const below = down[column] ?? 0;
    if (strength > 0 || below === 0) draw(column, strength);
    if (below > 0) draw(column, -below);
    context.globalAlpha = 1;
    if (isCrowded) draw(column, mean[column] ?? 0);
  }
  context.fillStyle = ink("--line-2");
  for (const { from, stop } of absent(trained)) {
    const x = columnOf(from, trained.length, width);
    context.fillRect(x, height - MARKS_PX, Math.max(1, columnOf(stop - 1, trained.length, width) - x + 1), 1);
  }
  for (const [place, taken] of flags.entries()) {
    context.fillStyle = ink(place === 0 ? "--accent" : "--warn");
    const y = height - MARKS_PX + 2 + place * (MARK_PX + 1);
    for (const column of flaggedColumns(taken, width))
      context.fillRect(Math.max(0, column + bar / 2 - MARK_PX / 2), y, MARK_PX, MARK_PX);
  }
}

/** Stretches of tokens that are not trained. */
function absent(trained: Uint8Array): { from: number; stop: number }[] {
  const found: { from: number; stop: number }[] = [];
  for (let token = 0; token < trained.length; token += 1) {
    if (trained[token] === 1) continue;
    const last = found.at(-1);
    if (last !== undefined && last.stop === token) last.stop = token + 1;
    else found.push({ from: token, stop: token + 1 });
  }
  return found;
}
