/** Which samples a chart counts: those of a split that match a filter. */

import type { Asked } from "../choice";

/** Why a curve of this kind counts whole steps; empty where it counts samples. */
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

/** The split that a chart counts, and that of the page where it has none of its own. */
export const splitOf = ({ split = "" }: Asked, ofPage: string): string => split || ofPage;
