/** The places where a share of the gradient can be looked at. */

import type { RunGradient } from "../../../api/types.gen";
import type { Extent, Place } from "../../../lib/address/address";
import { condition, narrowed } from "../../../lib/list/filter";

type Window = Pick<RunGradient, "step_min" | "step_max" | "env">;

/** The trained samples of the window that match a filter. */
export function listOf({ step_min: low, step_max: high, env }: Window, filter: string): Partial<Place> {
  const extent: Extent = low === null && high === null ? "run" : [low, high];
  const where = env === null ? filter : narrowed(filter, condition("env", "=", env, false));
  return { page: "rollouts", discarded: false, mode: "samples", split: "train", extent, where, sample: null };
}

/** The prompts with this verdict over the steps of the window. */
export function promptsOf(reply: Window, metric: string, only: string): Partial<Place> {
  const all = { of: "train", only, metric, from: reply.step_min, to: reply.step_max };
  const ask = Object.entries(all).filter(([, value]) => value !== null && value !== "");
  return { page: "evals", ask: Object.fromEntries(ask.map(([name, value]) => [name, String(value)])) };
}
