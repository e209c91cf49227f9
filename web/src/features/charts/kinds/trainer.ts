/** Metrics that the trainer logged. */

import { type ChartKind, UNBOUNDED } from "./kind";

export const trainer: ChartKind = {
  words: ({ name }) => name,
  short: ({ name }) => name,
  figure: "trainer",
  bounds: () => UNBOUNDED,
  isOfSplit: false,
  none: "The trainer did not log this metric.",
};
