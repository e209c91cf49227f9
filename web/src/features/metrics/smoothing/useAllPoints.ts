/** Every point of the shown curves, from which the page averages and cuts them while a person looks around. */

import { useMemo, useRef } from "preact/hooks";
import type { CurveData } from "../../../api/types.gen";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { type AllPoints, pointsIn } from "./average";
import { visits } from "./slider";

/** More points are not loaded: so many take some megabytes, and are averaged within a frame. */
const MOST_AVERAGED = 300_000;

interface Answer {
  /** What all points of its curves are asked by. */
  ofWholes: string;
  /** True if it has every point of each curve that is short enough. */
  hasAll: boolean;
  curves: CurveData[][];
}

export interface Wholes {
  ofWholes: string;
  /** By curve and run; null for a curve of which points are missing. */
  points: readonly (readonly (AllPoints | null)[])[];
  /** True if the runs have no further points. */
  isCurrent: boolean;
}

/**
 * Every point of the curves of an answer: those that it has itself, else as they are when a person comes to the charts
 * or to the slider; null for too many, and until they are there. `of` is null where only the server knows them.
 */
export function useAllPoints(
  answer: Answer | null,
  of: string | null,
  ofWholes: string,
  versions: string,
  load: () => Promise<CurveData[][]>,
): Wholes | null {
  const own = useMemo(() => (answer?.hasAll === true ? allIn(answer.curves) : null), [answer]);
  const isWhole = own?.flat().every((points) => points !== null) === true;
  const count = (answer?.curves ?? []).flat().reduce((sum, { points }) => sum + points, 0);
  const seen = useRef({ visit: 0, versions });
  if (visits.value !== seen.current.visit) seen.current = { visit: visits.value, versions };
  const isWanted = visits.value > 0 && answer !== null && !isWhole && count <= MOST_AVERAGED;
  const asked = seen.current.versions;
  const loaded = useFollowed(
    isWanted ? of : null,
    asked,
    async () => ({ ofWholes, versions: asked, points: allIn(await load()) }),
    ofWholes,
  ).value;
  if (answer?.ofWholes !== ofWholes) return null;
  if (isWhole && own !== null) return { ofWholes, points: own, isCurrent: true };
  return loaded?.ofWholes === ofWholes ? { ...loaded, isCurrent: loaded.versions === versions } : null;
}

const allIn = (curves: CurveData[][]): (AllPoints | null)[][] => curves.map((each) => each.map(pointsIn));
