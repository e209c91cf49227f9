/** The band around a curve: a number of standard deviations on either side, or two percentiles. */

import type { Asked } from "../choice";

export interface Band {
  /** The number of standard deviations; 0 for no band, and 1 for a band of percentiles. */
  scale: number;
  /** The percentiles, as the server names them; empty for standard deviations. */
  between: string;
  /** The band as an option. */
  text: string;
}

export const MOST_SCALE = 10;

/** The usual bands, and their words. */
const BANDS: readonly (readonly [text: string, words: string])[] = [
  ["0", "no band"],
  ["0.2", "± 0.2 std"],
  ["0.5", "± 0.5 std"],
  ["1", "± std"],
  ["2", "± 2 std"],
  ["p5-p95", "p5 to p95"],
  ["p25-p75", "p25 to p75"],
];

/** The bands of groups of runs, whose values are means of runs, not of samples. */
const EXTREMES: readonly [string, string] = ["min-max", "min to max"];

/** The bands of runs, or of groups of runs. */
export const bandsOf = (isGrouped: boolean): readonly (readonly [text: string, words: string])[] =>
  isGrouped ? [...BANDS.filter(([text]) => !text.startsWith("p")), EXTREMES] : BANDS;

/** The band that a person chose; one standard deviation for an unknown one. Groups have no percentiles. */
export function bandOf({ band = "" }: Asked, isGrouped: boolean): Band {
  if ([...BANDS, EXTREMES].some(([text]) => text === band && text.includes("-"))) {
    const text = isGrouped ? EXTREMES[0] : band === EXTREMES[0] ? "p5-p95" : band;
    return { scale: 1, between: text, text };
  }
  const scale = band === "" ? 1 : Number(band);
  const drawn = scale >= 0 && scale <= MOST_SCALE ? scale : 1;
  return { scale: drawn, between: "", text: String(drawn) };
}

/** The band in words; only samples have percentiles. */
export function wordsOfBand({ scale, between, text }: Band): string {
  return between !== "" || scale === 1
    ? ([...BANDS, EXTREMES].find(([one]) => one === text)?.[1] ?? "")
    : `± ${text} std`;
}
