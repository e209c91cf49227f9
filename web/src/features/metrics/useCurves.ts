/** The curves of the shown charts, for the run and those drawn over it: one request, again when a run changes. */

import { useMemo } from "preact/hooks";
import type { ApiError } from "../../api";
import { curveCsv, getCurves } from "../../api";
import type { CatalogueEntry, CurveData, CurvesRequest } from "../../api/types.gen";
import { chartOfEntry } from "../../lib/charts/catalogue";
import { recordOf, textOf } from "../../lib/charts/chart";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { type Curve, curveOf } from "../charts";
import { hasBand, spanOf } from "./choice";
import { pointsOf } from "./points/points";

/** More points than a chart has pixels; a longer curve keeps its extremes. */
const POINTS = 2000;

/** A curve as the server sent it, and as it is drawn; none of the latter without a value. */
export interface Drawn {
  data: CurveData;
  curve: Curve | null;
}

interface Curves {
  /** The curves of an entry, of the run first; undefined until they are loaded. */
  curvesOf: (entry: CatalogueEntry) => readonly Drawn[] | undefined;
  /** The address of all their points, as a file. */
  csvOf: (entry: CatalogueEntry) => string;
  error: ApiError | null;
  again: () => void;
}

const textOfEntry = (entry: CatalogueEntry): string => textOf(chartOfEntry(entry));

export function useCurves(shown: readonly CatalogueEntry[]): Curves {
  const session = useSession();
  const split = session.place.field.split.value ?? "";
  const runs = [...(session.run.now.value === null ? [] : [session.run.now.value]), ...session.overlays.runs.value];
  const ids = runs.map(({ id }) => id);
  const smooth = spanOf(session);
  const { last, ...which } = pointsOf(session);
  const texts = shown.map(textOfEntry);
  const requestOf = (entries: readonly CatalogueEntry[], spread: boolean): CurvesRequest => ({
    runs: ids,
    curves: entries.map((entry) => {
      const one = { ...chartOfEntry(entry), options: { spread, smooth, ...which } };
      return recordOf(one, entry.kind === "trainer" ? "" : split);
    }),
    points: POINTS,
    step_min: null,
    step_max: last,
  });
  const loaded = useFollowed(
    shown.length === 0 ? null : JSON.stringify([ids, split]),
    runs.map(({ version }) => version).join(" "),
    async () => {
      const reply = await getCurves(requestOf(shown, true));
      return { texts, curves: reply.curves };
    },
    JSON.stringify([smooth, which, last, texts]),
  );
  const answer = loaded.value;
  const drawn = useMemo(() => {
    const all = (answer?.curves ?? []).map((data) => ({
      data,
      curve: data.error === "" && data.steps.length > 0 ? curveOf(data) : null,
    }));
    return new Map(
      (answer?.texts ?? []).map((text, at): [string, Drawn[]] => [text, all.filter(({ data }) => data.curve === at)]),
    );
  }, [answer]);
  return {
    curvesOf: (entry) => drawn.get(textOfEntry(entry)),
    csvOf: (entry) => curveCsv(requestOf([entry], hasBand(session))),
    error: loaded.error,
    again: loaded.again,
  };
}
