/** Shares of the samples of a step: discarded ones, those with a status, those without an advantage. */

import { type Chart, inWords } from "../../../lib/charts/chart";
import type { ChartKind } from "./kind";

const wordsOf = ({ name, options }: Chart): string => {
  const words = inWords(name);
  return options?.reason === undefined || options.reason === "" ? words : `${words}: ${options.reason}`;
};

export const share: ChartKind = {
  words: wordsOf,
  short: wordsOf,
  figure: "share",
  bounds: () => [0, 1],
  isOfSplit: true,
  none: "This run has no such sample.",
};
