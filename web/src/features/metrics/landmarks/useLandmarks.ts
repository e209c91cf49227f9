/** The landmarks of a run, loaded again when it grows. */

import { useMemo } from "preact/hooks";
import { getLandmarks } from "../../../api/metrics";
import type { AlarmItem } from "../../../api/types.gen";
import { useSession } from "../../../state/useSession";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { type Landmark, landmarksOf } from "./landmarks";

export function useLandmarks(alarms: readonly AlarmItem[]): readonly Landmark[] {
  const run = useSession().run.now.value;
  const { value } = useFollowed(run?.id ?? null, run?.version ?? "", () => getLandmarks(run?.id ?? ""));
  return useMemo(() => landmarksOf(value, alarms), [value, alarms]);
}
