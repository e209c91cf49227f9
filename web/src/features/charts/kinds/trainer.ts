/** Metrics that the trainer logged. */

import { chart } from "../../../lib/charts/chart";
import { type ChartKind, UNBOUNDED } from "./kind";

export const trainer: ChartKind = {
  group: "Logged by the trainer",
  offered: (_, logged) => logged.map((name) => chart("trainer", name)),
  words: ({ name }) => name,
  short: ({ name }) => name,
  figure: "trainer",
  bounds: () => UNBOUNDED,
  isOfSplit: false,
  none: "The trainer did not log this metric.",
};
