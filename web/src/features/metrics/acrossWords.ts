/** x at a step, in words. */

import type { CurveData } from "../../api/types.gen";
import { spanOfTime } from "../../lib/charts/across";
import { figure } from "../../lib/numbers/numbers";

/** Empty if x is the step. */
export function acrossWords(step: number, data: CurveData | undefined): string {
  const x = data?.x?.[data.steps.indexOf(step)];
  const start_s = data?.x_start_s ?? null;
  if (x === undefined) return "";
  return start_s === null ? figure(x) : `${spanOfTime(x)} · ${clockOf((start_s + x) * 1000)}`;
}

let clock: Intl.DateTimeFormat | null = null;

/** The time of a step, in the local time zone. */
function clockOf(time_ms: number): string {
  clock ??= new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  return clock.format(time_ms);
}
