/** How tokens look when they show what the step does to them. */

import type { Session } from "../../../state/session";
import { scaleOf, sorted, tint, type TokenScale } from "../../../lib/tokens/scale";
import type { TokenUpdate } from "../../../api/tokens";
import type { Paint } from "../flow/tokenFlow";

export const TAKEN_OUT = 4;
const PLAIN: Paint = { background: () => "", isFirst: () => false, isSecond: () => false };

/** The first rule gives the tints, and marks what it takes out; the second marks where it does something else. */
export function updatePaint({ tokenUpdate }: Session): Paint {
  const [first, second] = tokenUpdate.now.value;
  if (first === undefined || first === null) return PLAIN;
  const scale = updateScale(first);
  return {
    background: (token) => {
      const value = first.coefficients[token] ?? NaN;
      return value === 0 ? "" : tint(scale, value);
    },
    isFirst: (token) => first.effects[token] === TAKEN_OUT,
    isSecond: (token) => second !== undefined && second !== null && first.effects[token] !== second.effects[token],
  };
}

const scales = new WeakMap<TokenUpdate, TokenScale>();

/** The scale of the coefficients, around zero. */
export function updateScale(update: TokenUpdate): TokenScale {
  const known = scales.get(update);
  if (known !== undefined) return known;
  const ordered = sorted(update.coefficients, (token) => (update.effects[token] ?? 0) !== 0);
  const scale = scaleOf(ordered, { kind: "symmetric", ends: "clip", low: NaN, high: NaN }, false);
  scales.set(update, scale);
  return scale;
}
