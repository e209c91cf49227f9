/**
 * The activity of a run: running, stalled, ended, or unknown. Its own marker decides, or recent growth that this viewer
 * saw. The time of a file alone does not decide, because it may be the time of a copy.
 */

import type { RunItem } from "../../api/types.gen";
import { changedS } from "../runs";

export type Activity = "running" | "stalled" | "ended" | "unknown";

/** `seconds` since its files changed, null if unknown; after `quiet` seconds it counts as ended. */
export function activity(ending: string, seconds: number | null, quiet: number, hasGrown: boolean): Activity {
  if (ending === "ended") return "ended";
  if (seconds !== null && seconds < quiet && (hasGrown || ending === "open")) return "running";
  // A trainer that usually marks its end, and did not, was interrupted.
  return ending === "open" ? "stalled" : "unknown";
}

export const activityOf = (item: RunItem): Activity =>
  activity(item.ending, changedS(item), item.quiet_s, item.has_grown);

/** Explains each state; `quiet` is a time in words. */
export const MEANING: Readonly<Record<Activity, (quiet: string) => string>> = {
  running: () => "Its files are being written",
  stalled: (quiet) => `It has not marked its end, and nothing was written for ${quiet}`,
  ended: () => "It marked its end",
  unknown: () => "Its files do not say whether it has ended; the time is that of the newest file",
};
