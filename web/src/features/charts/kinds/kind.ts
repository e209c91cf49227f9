/** A kind of charts. A new kind is a module beside this one and a line in `index.ts`. */

import type { Chart } from "../../../lib/charts/chart";
import type { Session } from "../../../state/session";

export interface ChartKind {
  /** The title of the chart, and a shorter one for narrow places. */
  words: (chart: Chart, session: Session) => string;
  short: (chart: Chart, session: Session) => string;
  /** The meaning of its numbers: `mean`, `share`. */
  figure: string;
  /** The bounds of all values, if known. */
  bounds: (chart: Chart, session: Session) => readonly [low: number | null, high: number | null];
  /** False for charts that do not depend on the split of the page. */
  isOfSplit: boolean;
  /** The reason why a run lacks such a curve. */
  none: string;
}

export const UNBOUNDED = [null, null] as const;
