/** Explains how to open more runs, if there is only one. */

import { runs } from "../../state/runs";

export function OnlyRun() {
  if (runs.value?.length !== 1) return null;
  return (
    <p class="quiet">
      To compare it with others, start the viewer with several runs, or with the folder that holds them:{" "}
      <code>rolloupe view RUN OTHER_RUN</code>.
    </p>
  );
}
