/** The options of the page, stored in the address, and the samples that they select. */

import type { Finding, RunFindings } from "../../api/types.gen";
import { type Extent, NO_SEARCH, type Place } from "../../lib/address/address";
import { chart } from "../../lib/charts/chart";
import { condition, narrowed } from "../../lib/list/filter";
import type { Session } from "../../state/session";

/** The value of an option; empty for the run's default. */
export const option = (session: Session, name: string): string => session.place.now.value.ask[name] ?? "";

/** Change options; empty ones are removed, and so is the finding that a link led to. */
export function setOptions(session: Session, change: Readonly<Record<string, string>>): void {
  const { finding: _, ...rest } = session.place.now.peek().ask;
  session.place.go({
    ask: Object.fromEntries(Object.entries({ ...rest, ...change }).filter(([, value]) => value !== "")),
  });
}

type Scope = Pick<RunFindings, "split" | "step_min" | "step_max" | "env">;

type Feature = Pick<Finding, "pattern" | "where" | "behaviour">;

/** The samples of a phrase or a behaviour: a list for a behaviour, a search for a phrase. */
export function samplesOf(of: Feature, { split, step_min: low, step_max: high, env }: Scope): Partial<Place> {
  const extent: Extent = low === null && high === null ? "run" : [low, high];
  const ofEnv = env === null ? "" : condition("env", "=", env, false);
  if (of.where === "")
    return {
      page: "search",
      split,
      extent,
      where: ofEnv,
      search: { ...NO_SEARCH, text: of.pattern, regex: true, role: "response" },
    };
  const where = ofEnv === "" ? of.where : narrowed(of.where, ofEnv);
  const sorted = { sort: of.behaviour, descending: true };
  return { page: "rollouts", discarded: false, mode: "samples", split, extent, where, sample: null, ...sorted };
}

/** The curve of a behaviour beside that of the reward. */
export const chartsOf = ({ behaviour }: Finding): Partial<Place> => ({
  page: "metrics",
  charts: [chart("sample", "reward"), chart("sample", behaviour)],
});
