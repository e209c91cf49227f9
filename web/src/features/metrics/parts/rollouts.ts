/** The place that a press on a chart opens. */

import type { Place } from "../../../lib/address/address";
import type { Placed } from "../../../lib/charts/layout";
import { nearest } from "../../../lib/numbers/nearest";
import type { Session } from "../../../state/session";
import { askedOf } from "../choice";
import { splitOf, whereOf } from "../filter/filter";

/** The rollouts of a step, in the split and with the filter of the chart; a trainer may log steps without rollouts. */
export function rolloutsAt(session: Session, entry: Placed, step: number): Partial<Place> {
  const now = session.place.now.peek();
  const asked = askedOf(session, entry.chart);
  const where = whereOf(asked);
  const filter = where === "" ? {} : { where };
  const split = entry.kind === "eval" ? entry.source : splitOf(asked, now.split ?? "");
  if (split !== now.split) return { page: "rollouts", discarded: false, split, step, ...filter };
  const steps = session.steps.reply.peek()?.steps ?? [];
  return { page: "rollouts", discarded: false, split, step: steps[nearest(steps, step)] ?? step, ...filter };
}

/** Makes another run of the charts the run of the page; the previous one stays among the others. */
export function inRun(session: Session, run: string): Partial<Place> {
  const { run: here, over } = session.place.now.value;
  return run === here || here === null ? {} : { run, over: [here, ...over.filter((id) => id !== run)] };
}
