/** Numbers of samples: the mean over the trained ones, and its spread. */

import { finite } from "../../../lib/numbers/numbers";
import type { ChartKind } from "./kind";

export const sample: ChartKind = {
  words: ({ name }, session) => session.columns.label(name),
  short: ({ name }, session) => session.columns.shortLabel(name),
  figure: "mean",
  bounds: ({ name }, session) => {
    const column = session.columns.named(name);
    return [finite(column?.low ?? null), finite(column?.high ?? null)];
  },
  isOfSplit: true,
  none: "No sample of this run has this number.",
};
