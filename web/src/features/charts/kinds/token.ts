/** Token series: the mean over the tokens of a step. */

import { type ChartKind, UNBOUNDED } from "./kind";

export const token: ChartKind = {
  words: ({ name }) => name,
  short: ({ name }) => name,
  figure: "mean",
  bounds: () => UNBOUNDED,
  isOfSplit: true,
  none: "No sample of this run has this token series.",
};
