/** What a kind of charts says of itself. A new kind is a module beside this one and a line in `index.ts`. */

import type { Chart } from "../../../lib/charts/chart";
import type { Session } from "../../../state/session";

export interface ChartKind {
  /** Its heading in the menu that adds charts. */
  group: string;
  /** The charts that can be added; `logged` are the metrics of the trainer. */
  offered: (session: Session, logged: readonly string[]) => readonly Chart[];
  /** The chart in words, and in fewer where there is little room. */
  words: (chart: Chart, session: Session) => string;
  short: (chart: Chart, session: Session) => string;
  /** What its numbers are: `mean`, `share`. */
  figure: string;
  /** Between which numbers all values lie, where that is known. */
  bounds: (chart: Chart, session: Session) => readonly [low: number | null, high: number | null];
  /** False for what is of no split. */
  isOfSplit: boolean;
  /** Why a run has no such curve. */
  none: string;
}

export const UNBOUNDED = [null, null] as const;
