/** What the reward pays for in a run. */

import { get } from "./client";
import type { FindingsReply } from "./types.gen";

/** An empty field leaves the choice to the server. */
export interface FindingsQuery {
  split: string;
  step_min: string;
  step_max: string;
  env: string;
  correct: string;
}

export const getFindings = (run: string, query: Partial<FindingsQuery>): Promise<FindingsReply> =>
  get(["runs", run, "findings"], Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "")));
