/** The samples that a chart counts: those of a split that match a filter. */

import type { Asked } from "../choice";

/** Why a curve of this kind counts whole steps; empty if it counts samples. */
export const wholeSteps = (kind: string): string =>
  ({
    trainer: "The trainer logs whole steps: they have no filter.",
    token: "Statistics of tokens are of whole steps: they have no filter.",
    elapsed: "Times are of whole steps: they have no filter.",
  })[kind] ?? "";

/** Both filters at once. */
export const both = (one: string, other: string): string =>
  [one, other].filter((text) => text !== "").length < 2 ? `${one}${other}` : `(${one}) and ${other}`;

/** The filter of a chart; empty for none. */
export const whereOf = ({ where = "" }: Asked): string => where.trim();

/** The split that a chart counts: its own, else that of the page. */
export const splitOf = ({ split = "" }: Asked, ofPage: string): string => split || ofPage;

/** An error of the server without its list of known names. */
export const brief = (error: string): string => error.replace(/;? there are: .*$/su, "");

/**
 * The error of a filter and its place in the text, which the server sends or which follows from the unknown name that
 * it quotes.
 */
export function troubleOf(where: string, error: string): { place: number; message: string } | null {
  if (where === "" || error === "") return null;
  const [, character] = /at character (\d+)/u.exec(error) ?? [];
  const [, name = ""] = /^no \w+ '([^']*)'/u.exec(error) ?? [];
  const place = character === undefined ? where.indexOf(name) : Number(character) - 1;
  return { place: Math.max(0, place), message: brief(error) };
}
