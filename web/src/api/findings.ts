/** What the reward pays for in a run. */

import { get } from "./client";
import type { FindingsReply, GradientReply, LintReply, PartsReply } from "./types.gen";

/** An empty field leaves the choice to the server. */
export interface FindingsQuery {
  split: string;
  step_min: string;
  step_max: string;
  env: string;
  correct: string;
}

const about = <T>(run: string, what: string, query: Partial<FindingsQuery>): Promise<T> =>
  get(["runs", run, what], Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "")));

export const getFindings = (run: string, query: Partial<FindingsQuery>): Promise<FindingsReply> =>
  about(run, "findings", query);

/** Where the gradient of the training samples came from. */
export const getGradient = (run: string, query: Partial<Omit<FindingsQuery, "split">>): Promise<GradientReply> =>
  about(run, "gradient", query);

/** What each part of the reward pays for. */
export const getParts = (run: string, query: Partial<Omit<FindingsQuery, "correct">>): Promise<PartsReply> =>
  about(run, "parts", query);

/** What is wrong with the samples. */
export const getLint = (
  run: string,
  query: Partial<Pick<FindingsQuery, "split" | "step_min" | "step_max">>,
): Promise<LintReply> => about(run, "lint", query);
