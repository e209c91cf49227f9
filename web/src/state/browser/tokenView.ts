/** How tokens are shown: series, scales and rules. Stored in this browser. */

import { signal } from "@preact/signals";
import { isRecord } from "../../lib/data/record";
import type { ScaleChoice, ScaleKind } from "../../lib/tokens/scale";
import { fields, share } from "./storage";

export interface TokenChoice {
  /** The series that colours the tokens; empty for the page's own choice. */
  series: string;
  /** The scale of each series, by its name. */
  scales: Readonly<Record<string, ScaleChoice>>;
  /** The names of the rules that mark tokens, at most two; null for the run's own. */
  rules: readonly string[] | null;
  /** The thresholds of rules that the reader set, by `RULE.THRESHOLD`. */
  thresholds: Readonly<Record<string, number>>;
}

const USUAL: TokenChoice = { series: "", scales: {}, rules: null, thresholds: {} };
const KEY = "rolloupe.tokens";
export const MOST_RULES = 2;
/** Older scales and thresholds are forgotten. */
const MOST_KEPT = 60;
const KINDS = ["linear", "symmetric", "log"] as const;
const ENDS = ["all", "clip", "fixed"] as const;

export const tokenChoice = signal<TokenChoice>(USUAL);

export function chooseTokens(change: Partial<TokenChoice>): void {
  tokenChoice.value = { ...tokenChoice.value, ...change };
}

/** The scale of a series: the reader's own, else the suggested one. */
export function scaleChoice(choice: TokenChoice, name: string, suggested: ScaleKind): ScaleChoice {
  return choice.scales[name] ?? { kind: suggested, ends: "clip", low: NaN, high: NaN };
}

export function chooseScale(name: string, change: ScaleChoice): void {
  chooseTokens({ scales: { ...tokenChoice.peek().scales, [name]: change } });
}

/** The stored choices; invalid ones take the default. */
export function restored(text: string | null): TokenChoice {
  const values = fields<TokenChoice>(text);
  const { series, rules } = values;
  const kept = <T>(of: unknown, read: (value: unknown) => T | null): Record<string, T> =>
    Object.fromEntries(
      (isRecord(of) ? Object.entries(of) : []).slice(-MOST_KEPT).flatMap(([name, value]) => {
        const one = read(value);
        return one === null ? [] : [[name, one]];
      }),
    );
  return {
    series: typeof series === "string" ? series : "",
    scales: kept(values.scales, scaleIn),
    rules: Array.isArray(rules)
      ? rules.filter((name): name is string => typeof name === "string").slice(0, MOST_RULES)
      : null,
    thresholds: kept(values.thresholds, (value) =>
      typeof value === "number" && Number.isFinite(value) ? value : null,
    ),
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
