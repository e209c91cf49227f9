/** Every point of the shown curves, from which the page averages them while a person moves the slider. */

import { useMemo } from "preact/hooks";
import type { CurveData } from "../../../api/types.gen";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { type AllPoints, pointsIn } from "./average";
import { isAtSlider } from "./slider";

/** More points are not loaded: so many take some megabytes, and are averaged within a frame. */
const MOST_AVERAGED = 300_000;

interface Answer {
  /** What all points of its curves are asked by. */
  ofWholes: string;
  /** True if it has every point of each curve that is short enough. */
  hasAll: boolean;
  curves: CurveData[][];
}

/**
 * Every point of the curves of an answer: those that it has itself, else once a person comes to the slider; null for
 * too many, and until they are there. `of` is null where only the server can average the curves.
 */
export function useAllPoints(
  answer: Answer | null,
  of: string | null,
  ofWholes: string,
  versions: string,
  load: () => Promise<CurveData[][]>,
): (AllPoints | null)[][] | null {
  const own = useMemo(() => (answer?.hasAll === true ? allIn(answer.curves) : null), [answer]);
  const isWhole = own?.flat().every((points) => points !== null) === true;
  const count = (answer?.curves ?? []).flat().reduce((sum, { points }) => sum + points, 0);
  const isWanted = isAtSlider.value && answer !== null && !isWhole && count <= MOST_AVERAGED;
  const loaded = useFollowed(
    isWanted ? of : null,
    versions,
    async () => ({ ofWholes, points: allIn(await load()) }),
    ofWholes,
  );
  if (answer?.ofWholes !== ofWholes) return null;
  return isWhole ? own : loaded.value?.ofWholes === ofWholes ? loaded.value.points : null;
}

const allIn = (curves: CurveData[][]): (AllPoints | null)[][] => curves.map((each) => each.map(pointsIn));
