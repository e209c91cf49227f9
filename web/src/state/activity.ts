/** Whether a run goes on: running, stalled, ended. A format's own marker says so, else that it was quiet for longer than its rhythm explains. */

import type { RunItem } from "../api/types.gen";
import { changedS } from "./runs";

export type Activity = "running" | "stalled" | "ended";

/** `seconds` since its files changed, null where that is unknown; `quiet` such seconds are an end. */
export function activity(ending: string, seconds: number | null, quiet: number): Activity {
  if (ending === "ended") return "ended";
  if (seconds !== null && seconds < quiet) return "running";
  // A trainer that marks its end, and has not, has not ended well.
  return ending === "open" ? "stalled" : "ended";
}

export const activityOf = (item: RunItem): Activity => activity(item.ending, changedS(item), item.quiet_s);
