/** Rules that take tokens out of the loss, computed from their thresholds, which the reader may move. */

import type { Limit, MaskRuleInfo } from "../../api/types.gen";

export interface Threshold {
  name: string;
  value: number;
  /** The threshold of the run or the paper. */
  usual: number;
}

type Sign = Limit["signs"][number];

/** The distinct thresholds of a rule: several limits may share one. */
export function thresholdsOf({ limits }: MaskRuleInfo, moved: (name: string) => number | undefined): Threshold[] {
  const names = [...new Set(limits.map(({ threshold }) => threshold))];
  return names.map((name) => {
    const usual = limits.find(({ threshold }) => threshold === name)?.value ?? NaN;
    return { name, value: moved(name) ?? usual, usual };
  });
}

/** The limits of a rule for its thresholds: a token beyond one of them is taken out. */
export interface Bound {
  threshold: string;
  side: Limit["side"];
  signs: ReadonlySet<Sign>;
  end: number;
}

export function boundsOf({ limits }: MaskRuleInfo, thresholds: readonly Threshold[]): Bound[] {
  return limits.map(({ threshold, value, side, signs, base, factor }) => ({
    threshold,
    side,
    signs: new Set(signs),
    end: base + factor * (thresholds.find(({ name }) => name === threshold)?.value ?? value),
  }));
}

const ALL_SIGNS = 3;

/** The bound that a token exceeds, given its advantage; null if the rule keeps the token. */
export function exceeded(bounds: readonly Bound[], value: number, advantage: number | null): Bound | null {
  for (const bound of bounds) {
    const isBeyond = bound.side === "high" ? value > bound.end : value < bound.end;
    if (!isBeyond) continue;
    const sign: Sign =
      advantage !== null && advantage > 0 ? "up" : advantage !== null && advantage < 0 ? "down" : "zero";
    if (bound.signs.size === ALL_SIGNS || (advantage !== null && bound.signs.has(sign))) return bound;
  }
  return null;
}

/** 1 for each trained token that exceeds a bound. NaN exceeds none. */
export function takenOut(
  bounds: readonly Bound[],
  values: Float64Array,
  advantages: Float64Array | null,
  trained: Uint8Array,
): Uint8Array {
  const flags = new Uint8Array(trained.length);
  for (let token = 0; token < flags.length; token += 1)
    if (trained[token] === 1 && exceeded(bounds, values[token] ?? NaN, advantages?.[token] ?? null) !== null)
      flags[token] = 1;
  return flags;
}

/** The flags that a trainer recorded, for trained tokens. */
export function recordedFlags(values: Float64Array, trained: Uint8Array): Uint8Array {
  return trained.map((isTrained, token) => (isTrained === 1 && (values[token] ?? 0) > 0 ? 1 : 0));
}

export function countOf(flags: Uint8Array): number {
  let sum = 0;
  for (const flag of flags) sum += flag;
  return sum;
}

/** The share of tokens that both rules take out, of those that either does; NaN if neither takes out any. */
export function agreement(one: Uint8Array, other: Uint8Array): number {
  let [both, either] = [0, 0];
  for (let token = 0; token < one.length; token += 1) {
    const sum = (one[token] ?? 0) + (other[token] ?? 0);
    if (sum > 0) either += 1;
    if (sum > 1) both += 1;
  }
  return both / either;
}

/** The range of a slider from 0: beyond a few times the default threshold nothing changes. */
export const mostOf = (usual: number): number => (usual === 0 ? 1 : Number((5 * Math.abs(usual)).toPrecision(6)));

/** The step of a threshold's slider: a hundredth of its size, or a twentieth of small ones. */
export function stepOf(value: number): number {
  const size = Math.abs(value);
  return size === 0 ? 0.01 : 10 ** (Math.floor(Math.log10(size)) - 1);
}
