/** Lengths of right and wrong answers, and whether longer ones have a higher reward. */

import { ownValue } from "../../../lib/data/record";
import { type ChartKind, UNBOUNDED } from "./kind";

const TITLES: Readonly<Record<string, string>> = { length_right: "Length, right", length_wrong: "Length, wrong" };

export const outcome: ChartKind = {
  words: ({ name }) => ownValue(TITLES, name) ?? name,
  short: ({ name }) => ownValue(TITLES, name) ?? name,
  figure: "tokens",
  bounds: () => UNBOUNDED,
  isOfSplit: true,
  none: "No answer of this run was graded.",
};

export const correlation: ChartKind = {
  words: ({ name }, session) => `Correlation of reward and ${session.columns.label(name).toLowerCase()}`,
  short: ({ name }, session) => `Reward and ${session.columns.shortLabel(name)}`,
  figure: "Pearson's r",
  bounds: () => [-1, 1],
  isOfSplit: true,
  none: "No step has samples with different rewards and lengths.",
};
