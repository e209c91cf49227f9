/** Shares of the groups of a step by the rewards in them. */

import { ownValue } from "../../../lib/data/record";
import type { ChartKind } from "./kind";

const TITLES: Readonly<Record<string, string>> = {
  all_best: "All right",
  all_worst: "All wrong",
  without_spread: "Without spread",
  mixed: "Mixed",
};

export const group: ChartKind = {
  words: ({ name }) => `Groups: ${(ownValue(TITLES, name) ?? name).toLowerCase()}`,
  short: ({ name }) => ownValue(TITLES, name) ?? name,
  figure: "share of groups",
  bounds: () => [0, 1],
  isOfSplit: true,
  none: "No group of this run has more than one reward.",
};
