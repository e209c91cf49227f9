/** The look of tokens in the update, and its meaning in words. */

import type { Session } from "../../../state/session";
import { tint } from "../../../lib/tokens/scale";
import type { TokenUpdate } from "../../../api/tokens";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Paint } from "../flow/paint";

export const TAKEN_OUT = 4;
/** The words of each effect, by its number. */
export const EFFECTS = [
  "not trained",
  "pushed up",
  "pushed down",
  "nothing: advantage 0",
  "masked or clipped",
  "unknown: a number is missing",
] as const;
const PLAIN: Paint = { background: () => "", isFirst: () => false, isSecond: () => false };

/**
 * The first rule gives the tints and marks the tokens that it takes out; the second marks tokens that it treats
 * differently.
 */
export function updatePaint({ tokenUpdate: update }: Session): Paint {
  const [first, scale, second] = [update.first.value, update.scale.value, update.now.value[1] ?? null];
  if (first === null || scale === null) return PLAIN;
  return {
    background: (token) => {
      const value = first.coefficients[token] ?? NaN;
      return value === 0 ? "" : tint(scale, value);
    },
    isFirst: (token) => first.effects[token] === TAKEN_OUT,
    isSecond: (token) => second !== null && first.effects[token] !== second.effects[token],
  };
}

/** The number of tokens with each effect. */
export function effectsOf({ effects }: TokenUpdate, { first, count }: TokenSample): number[] {
  const many = EFFECTS.map(() => 0);
  for (const effect of effects.subarray(first, count)) many[effect] = (many[effect] ?? 0) + 1;
  return many;
}
