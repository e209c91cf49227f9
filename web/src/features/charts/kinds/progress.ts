/** Numbers that grow with a run: the time since its beginning, and the sum of a column. */

import { type ChartKind, UNBOUNDED } from "./kind";

const progress = {
  figure: "so far",
  bounds: () => UNBOUNDED,
  isOfSplit: true,
};

export const elapsed: ChartKind = {
  ...progress,
  words: () => "Elapsed time",
  short: () => "Elapsed time",
  none: "The trainer logged no times.",
};

export const cumulative: ChartKind = {
  ...progress,
  words: ({ name }, session) => `${session.columns.label(name)} so far`,
  short: ({ name }, session) => `${session.columns.shortLabel(name)} so far`,
  none: "No sample of this run has this number.",
};
