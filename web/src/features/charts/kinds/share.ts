/** Shares of all samples of a step: how many were discarded. */

import { chart } from "../../../lib/charts/chart";
import type { ChartKind } from "./kind";

export const share: ChartKind = {
  group: "Shares of the samples",
  offered: (session) => (session.run.split.value?.discarded === 0 ? [] : [chart("share", "discarded")]),
  words: ({ name }, session) => session.columns.label(name),
  short: ({ name }, session) => session.columns.label(name),
  figure: "share",
  bounds: () => [0, 1],
  isOfSplit: true,
  none: "No sample of this run was discarded.",
};
