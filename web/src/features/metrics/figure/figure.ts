/** What a chart draws for each step: a statistic of its samples or tokens, or their distribution. */

import { ownValue } from "../../../lib/data/record";
import type { Asked } from "../choice";

/** Draws a column of shades for each step instead of a curve. */
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

/** The statistics of a kind of charts, by name, with their words; none if the kind has only one number. */
export const figuresOf = (kind: string): [name: string, words: string][] =>
  Object.entries(ownValue(FIGURES, kind) ?? {});

/** The chosen statistic; empty for the default of the kind. */
export function figureOf({ figure = "" }: Asked, kind: string): string {
  return figure !== "mean" && Object.hasOwn(ownValue(FIGURES, kind) ?? {}, figure) ? figure : "";
}

/** The statistic to request: that of the chart, unless a person chose another. */
export function statOf(asked: Asked, { kind, stat }: { kind: string; stat: string }): string {
  const figure = figureOf(asked, kind);
  return figure === "" || figure === MAP ? stat : figure;
}

/** The statistic in words. */
export const wordsOfFigure = (figure: string, kind: string): string =>
  figure === MAP ? "samples by value" : (ownValue(ownValue(FIGURES, kind) ?? {}, figure) ?? "");
