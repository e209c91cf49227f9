/** The run of a distribution, which draws only one. */

import type { RunItem } from "../../../api/types.gen";
import type { Session } from "../../../state/session";
import { pageAsked } from "../choice";

/** The run that a person chose, if it is in the charts; else the run of the page. */
export function mappedRun(session: Session, { map } = pageAsked(session)): RunItem | null {
  return session.overlays.runs.value.find(({ id }) => id === map) ?? session.run.now.value;
}
