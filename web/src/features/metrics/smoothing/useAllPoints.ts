/** Loads every point of the shown curves, so that the page can smooth and zoom them itself. */

import { useMemo, useRef } from "preact/hooks";
import type { CurveData } from "../../../api/types.gen";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { type AllPoints, pointsIn } from "./average";
import { visits } from "./slider";

/** The most points to load: these take some megabytes, and are averaged within a frame. */
const MOST_AVERAGED = 300_000;

interface Answer {
  /** The key of the request for all points of its curves. */
  ofWholes: string;
  /** True if the answer has every point of each curve that is short enough. */
  hasAll: boolean;
  curves: CurveData[][];
}

export interface Wholes {
  ofWholes: string;
  /** By curve and run; null for a curve with missing points. */
  points: readonly (readonly (AllPoints | null)[])[];
  /** True if the runs will get no more points. */
  isCurrent: boolean;
}

/**
 * Every point of the curves of an answer: those in the answer, else loaded when a person comes to the charts or the
 * slider. Null for too many points, and until they are loaded. `of` is null if only the server can compute them.
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
