/** The reader's preferences for tokens: series, scales and rules. Stored in this browser. */

import { signal } from "@preact/signals";
import { isRecord } from "../../lib/data/record";
import { MOST_RULES } from "../../lib/tokens/choices";
import type { ScaleChoice } from "../../lib/tokens/scale";
import { fields, share } from "./storage";

export interface TokenChoice {
  /** The series that colours the tokens; empty for the page's own choice. */
  series: string;
  /** The scale of each series, by its name. */
  scales: Readonly<Record<string, ScaleChoice>>;
  /** The names of the chosen rules, at most two; null for the run's own. */
  rules: readonly string[] | null;
  /** True if the card of a token has all of its values. */
  isMore: boolean;
}

const USUAL: TokenChoice = { series: "", scales: {}, rules: null, isMore: false };
const KEY = "rolloupe.tokens";
/** The most stored scales: older ones are dropped. */
const MOST_KEPT = 60;
const KINDS = ["linear", "symmetric", "log"] as const;
const ENDS = ["out", "all", "clip", "fixed"] as const;

export const tokenChoice = signal<TokenChoice>(USUAL);

export function chooseTokens(change: Partial<TokenChoice>): void {
  tokenChoice.value = { ...tokenChoice.value, ...change };
}

export function chooseScale(name: string, change: ScaleChoice): void {
  chooseTokens({ scales: { ...tokenChoice.peek().scales, [name]: change } });
}

/** The stored choices; invalid ones take the default. */
export function restored(text: string | null): TokenChoice {
  const values = fields<TokenChoice>(text);
  const { series, scales, rules, isMore } = values;
  return {
    series: typeof series === "string" ? series : "",
    scales: Object.fromEntries(
      (isRecord(scales) ? Object.entries(scales) : []).slice(-MOST_KEPT).flatMap(([name, value]) => {
        const scale = scaleIn(value);
        return scale === null ? [] : [[name, scale]];
      }),
    ),
    rules: Array.isArray(rules)
      ? rules.filter((name): name is string => typeof name === "string").slice(0, MOST_RULES)
      : null,
    isMore: isMore === true,
  };
}

function scaleIn(value: unknown): ScaleChoice | null {
  if (!isRecord(value)) return null;
  const kind = KINDS.find((name) => name === value["kind"]);
  const ends = ENDS.find((name) => name === value["ends"]);
  const { low, high } = value;
  if (kind === undefined || ends === undefined) return null;
  return { kind, ends, low: typeof low === "number" ? low : NaN, high: typeof high === "number" ? high : NaN };
}

/** Load the stored choices, then store all changes, in this tab and in the others. */
export const startTokenView = (): void => share(KEY, tokenChoice, restored);
