/** Token series: the mean over the tokens of a step. */

import { chart } from "../../../lib/charts/chart";
import { type ChartKind, UNBOUNDED } from "./kind";

export const token: ChartKind = {
  group: "Of the tokens",
  offered: (session) => session.columns.tokenSeries.value.map((name) => chart("token", name)),
  words: ({ name }) => name,
  short: ({ name }) => name,
  figure: "mean",
  bounds: () => UNBOUNDED,
  isOfSplit: true,
  none: "No sample of this run has this token series.",
};
