/** The reader's choices for tokens, as text in an address: rules with their thresholds, and scales. */

import type { EndsKind, ScaleChoice, ScaleKind } from "./scale";

/** A rule, with the thresholds that the reader moved. */
export interface RuleChoice {
  name: string;
  thresholds: Readonly<Record<string, number>>;
}

/** A rule, and one to compare it with. */
export const MOST_RULES = 2;
const MOST_THRESHOLDS = 12;
const KINDS: readonly ScaleKind[] = ["linear", "symmetric", "log"];
const ENDS: readonly EndsKind[] = ["out", "all", "clip"];

/**
 * The chosen rules that a form knows. The form's default replaces an unknown first rule, so that the second rule stays
 * the second.
 */
export function knownRules(
  chosen: readonly RuleChoice[] | null,
  usual: string | undefined,
  isKnown: (name: string) => boolean,
): RuleChoice[] {
  const own = usual === undefined ? [] : [{ name: usual, thresholds: {} }];
  if (chosen === null) return own;
  const known = chosen.flatMap((one, place) => (isKnown(one.name) ? [one] : place === 0 ? own : []));
  return known.filter(({ name }, place) => known.findIndex((one) => one.name === name) === place);
}

/** The rules that a form changes: the chosen ones if it shows a rule for each of them, else the shown ones. */
export const editable = (chosen: readonly RuleChoice[] | null, shown: readonly RuleChoice[]): readonly RuleChoice[] =>
  chosen?.length === shown.length ? chosen : shown;

/** The rules with a new one at a place; an empty name removes the rule there. */
export function withRule(rules: readonly RuleChoice[], place: number, name: string): RuleChoice[] {
  const next = [...rules];
  next[place] = rules.find((one) => one.name === name) ?? { name, thresholds: {} };
  const names = next.map((one) => one.name);
  return next.filter((one, at) => one.name !== "" && names.indexOf(one.name) === at).slice(0, MOST_RULES);
}

/** The rules with a new threshold for one of them; null restores the default. */
export function withThreshold(
  rules: readonly RuleChoice[],
  name: string,
  threshold: string,
  value: number | null,
): RuleChoice[] {
  return rules.map((rule) => {
    if (rule.name !== name) return rule;
    const { [threshold]: _, ...others } = rule.thresholds;
    return { name, thresholds: value === null ? others : { ...others, [threshold]: value } };
  });
}

/** A rule as text, such as `dapo:low=0.1,high=0.3`. */
export function textOfRule({ name, thresholds }: RuleChoice): string {
  const moved = Object.entries(thresholds).map(([threshold, value]) => `${threshold}=${value}`);
  return moved.length === 0 ? name : `${name}:${moved.join(",")}`;
}

export function ruleIn(text: string): RuleChoice {
  const [name = "", thresholds = ""] = text.split(":");
  const moved = thresholds
    .split(",")
    .slice(0, MOST_THRESHOLDS)
    .map((one) => one.split("="))
    .map(([threshold = "", value = ""]) => [threshold, numberIn(value)] as const)
    .filter(([threshold, value]) => threshold !== "" && Number.isFinite(value));
  return { name, thresholds: Object.fromEntries(moved) };
}

/** The scale of a series as text, such as `log:out:kl` or `linear:0..2.5:entropy`. */
export const textOfScale = (series: string, { kind, ends, low, high }: ScaleChoice): string =>
  `${kind}:${ends === "fixed" ? `${low}..${high}` : ends}:${series}`;

/** The name of a series and its scale; null for another text. */
export function scaleIn(text: string): readonly [string, ScaleChoice] | null {
  const [first = "", second = "", ...name] = text.split(":");
  const kind = KINDS.find((one) => one === first);
  if (kind === undefined || name.length === 0) return null;
  const ends = ENDS.find((one) => one === second);
  if (ends !== undefined) return [name.join(":"), { kind, ends, low: NaN, high: NaN }];
  const [low = NaN, high = NaN] = second.split("..").map(numberIn);
  return Number.isNaN(low) || Number.isNaN(high) ? null : [name.join(":"), { kind, ends: "fixed", low, high }];
}

const numberIn = (text: string): number => (text === "" ? NaN : Number(text));
