/** The landmarks of a run, loaded again when it grows. */

import { useMemo } from "preact/hooks";
import { askLandmarks } from "../../../api";
import type { AlarmItem } from "../../../api/types.gen";
import { useSession } from "../../../state/useSession";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { type Landmark, landmarksOf } from "./landmarks";

/** The landmarks, and the number of earlier ones that the server left out. */
export function useLandmarks(alarms: readonly AlarmItem[]): { landmarks: readonly Landmark[]; leftOut: number } {
  const run = useSession().run.now.value;
  const { value } = useFollowed(run?.id ?? null, run?.version ?? "", () => askLandmarks(run?.id ?? ""));
  const landmarks = useMemo(() => landmarksOf(value, alarms), [value, alarms]);
  return { landmarks, leftOut: value?.left_out ?? 0 };
}
