/** Whether a run goes on: running, stalled, ended. A format's own marker says so, else ten quiet minutes. */

import type { RunItem } from "../api/types.gen";
import { changedS } from "./runs";

export type Activity = "running" | "stalled" | "ended";

export const QUIET_S = 600;

/** `seconds` since its files changed; null where that is unknown. */
export function activity(ending: string, seconds: number | null): Activity {
  if (ending === "ended") return "ended";
  if (seconds !== null && seconds < QUIET_S) return "running";
  // A trainer that marks its end, and has not, has not ended well.
  return ending === "open" ? "stalled" : "ended";
}

export const activityOf = (item: RunItem): Activity => activity(item.ending, changedS(item));
