/** Which number of many samples, or tokens, a chart draws for each step; or how all of them are distributed. */

import type { Asked } from "../choice";

/** Draws a column of shades for each step, in the place of a curve. */
export const MAP = "map";

const MOMENTS: Readonly<Record<string, string>> = {
  mean: "mean",
  std: "standard deviation",
  min: "least",
  max: "greatest",
};

const FIGURES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sample: {
    mean: "mean",
    median: "median",
    p5: "5th percentile",
    p25: "25th percentile",
    p75: "75th percentile",
    p95: "95th percentile",
    ...MOMENTS,
    [MAP]: "distribution",
  },
  token: MOMENTS,
};

/** What a chart of this kind may draw, by name, each in words; none where the kind has one number only. */
export const figuresOf = (kind: string): [name: string, words: string][] => Object.entries(FIGURES[kind] ?? {});

/** What a chart draws: empty for the usual number of its kind. */
export function figureOf({ figure = "" }: Asked, kind: string): string {
  return figure !== "mean" && Object.hasOwn(FIGURES[kind] ?? {}, figure) ? figure : "";
}

/** The statistic to ask for: that of the chart, unless another is chosen. */
export function statOf(asked: Asked, { kind, stat }: { kind: string; stat: string }): string {
  const figure = figureOf(asked, kind);
  return figure === "" || figure === MAP ? stat : figure;
}

/** The number in words. */
export const wordsOfFigure = (figure: string, kind: string): string =>
  figure === MAP ? "samples by value" : (FIGURES[kind]?.[figure] ?? "");
