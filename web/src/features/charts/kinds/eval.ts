/** Evaluations: score, pass@k, pass^k, or the numbers of prompts and samples. */

import type { Chart } from "../../../lib/charts/chart";
import { nameOfSplit } from "../../../lib/address/splits";
import { type ChartKind, UNBOUNDED } from "./kind";

const COUNTS: ReadonlySet<string> = new Set(["prompts", "samples"]);

const statOf = ({ stat }: Chart): string => (stat === "" ? "score" : stat);

function estimateOf(of: Chart): string {
  const stat = statOf(of);
  if (stat === "correct") return "right answers";
  if (stat === "pass_at") return `pass@${of.options?.k ?? 1}`;
  return stat === "pass_all" ? `pass^${of.options?.k ?? 1}` : stat;
}

function wordsOf(of: Chart): string {
  const where = of.source === "" ? "the first evaluation" : nameOfSplit(of.source);
  return `${estimateOf(of)} of ${where}${of.name === "" ? "" : ` by ${of.name}`}`;
}

function boundsOf(of: Chart): readonly [number | null, number | null] {
  const stat = statOf(of);
  if (COUNTS.has(stat)) return [0, null];
  return stat === "score" ? UNBOUNDED : [0, 1];
}

export const evaluation: ChartKind = {
  words: wordsOf,
  short: wordsOf,
  figure: "evaluation",
  bounds: boundsOf,
  isOfSplit: false,
  none: "This run has no such evaluation, or none with this metric.",
};
