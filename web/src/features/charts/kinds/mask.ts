/** What rules that mask or clip tokens take from the update of a step. */

import type { ChartKind } from "./kind";

export const mask: ChartKind = {
  words: ({ name }) => `Update lost: ${name}`,
  short: ({ name }) => `Update lost: ${name}`,
  figure: "share of the update",
  bounds: () => [0, 1],
  isOfSplit: true,
  none: "No sample of this run has the logprobs that this rule needs.",
};
