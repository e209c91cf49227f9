/** Numbers of samples: the mean over the trained ones, and its spread. */

import { chart } from "../../../lib/charts/chart";
import { finite } from "../../../lib/numbers/numbers";
import type { ChartKind } from "./kind";

/** The first chart shows one of these; the other does not belong in a curve. */
const OTHERS: ReadonlySet<string> = new Set(["reward", "step"]);

export const sample: ChartKind = {
  group: "Of the samples",
  offered: (session) =>
    session.columns.all.value
      .filter(({ name, kind }) => kind === "number" && !OTHERS.has(name))
      .map(({ name }) => chart("sample", name)),
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
