/** The first lines of a card, each with one series or a few related ones. */

import type { Mask } from "../../../state/tokens/masks";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { SAME } from "../../../lib/tokens/scale";

export interface Line {
  title: string;
  series: readonly Series[];
}

/** A card with no more values than this shows all of them. */
export const MOST_LINES = 7;
const DIFFERENCE = "_difference";
/** Series that share a line, with a word for each. */
const TOGETHER: readonly { title: string; parts: Readonly<Record<string, string>> }[] = [
  { title: "Probability", parts: { sampling_probability: "at sampling", probability: "now" } },
  { title: "Logprob", parts: { logprobs: "at sampling", trainer_logprobs: "now", ref_logprobs: "reference" } },
];
const BEFORE = ["importance_ratio", "log_importance_ratio", "prob_delta"];
export const ADVANTAGES: readonly string[] = ["advantages", "group_advantages"];
const AFTER = ["entropy", ...ADVANTAGES, "rewards"];

/** The lines of a token, and the series that no line has. */
export function linesOf(
  tokens: TokenSample,
  token: number,
  current: Series | null,
): { lines: readonly Line[]; rest: readonly Series[] } {
  const named = (name: string): Series[] => [tokens.named(name) ?? []].flat();
  const together = TOGETHER.flatMap(({ title, parts }) => {
    const found = Object.keys(parts).flatMap(named);
    if (found.length < 2) return found.map(alone);
    return [{ title: `${title} ${found.map(({ name }) => parts[name]).join(" · ")}`, series: found }];
  });
  const isShown = new Set(together.flatMap(({ series }) => series));
  const differences = tokens.series.filter((one) => differs(tokens, one, token));
  const others = [...BEFORE.flatMap(named), ...[current ?? []].flat(), ...AFTER.flatMap(named), ...differences];
  const single = [...new Set(others)].filter((one) => !isShown.has(one) && tokens.series.includes(one));
  const lines = [...together, ...single.map(alone)];
  const onLines = new Set(lines.flatMap(({ series }) => series));
  const rest = tokens.series.filter((one) => !onLines.has(one));
  if (lines.length + rest.length > MOST_LINES) return { lines, rest };
  return { lines: [...lines, ...rest.map(alone)], rest: [] };
}

const alone = (series: Series): Line => ({ title: series.title || series.name, series: [series] });

/** True for a difference of recorded and computed values that is more than rounding. */
function differs(tokens: TokenSample, { name, origin, values }: Series, token: number): boolean {
  if (origin !== "difference") return false;
  const recorded = tokens.named(name.replace(DIFFERENCE, ""))?.values[token] ?? 0;
  return Math.abs(values[token] ?? NaN) > SAME * Math.max(1, Math.abs(recorded));
}

/** What the step would do to a token, in words; empty if the record does not say. */
export function updateWords(tokens: TokenSample, token: number, masks: readonly Mask[]): string {
  if (tokens.trained[token] === 0) return "not trained";
  const advantage = advantageOf(tokens, token);
  const taken = masks.filter(({ flags }) => flags[token] === 1).map(({ title }) => title);
  const push = Number.isNaN(advantage) ? "" : advantage > 0 ? "would push up" : "would push down";
  if (advantage === 0) return "nothing: advantage 0";
  const kept = push !== "" && masks.length > 0 ? `${masks.map(({ title }) => title).join(" and ")} keeps it` : "";
  return [push, taken.length > 0 ? `is masked by ${taken.join(" and ")}` : kept].filter((one) => one !== "").join(", ");
}

/** The recorded advantage of a token, else that of its group; NaN without one. */
export function advantageOf(tokens: TokenSample, token: number): number {
  const series = tokens.named("advantages") ?? tokens.named("group_advantages");
  return series?.values[token] ?? NaN;
}

/** The colour of a push: up or down; none without one. */
export function signOf(advantage: number | undefined): "up" | "down" | undefined {
  if (advantage === undefined || Number.isNaN(advantage) || advantage === 0) return undefined;
  return advantage > 0 ? "up" : "down";
}
