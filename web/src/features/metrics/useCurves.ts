/** The curves of the shown charts, for the run and those drawn over it: one request, again when a run changes. */

import { useMemo } from "preact/hooks";
import type { ApiError } from "../../api";
import { curveCsv, getCurves } from "../../api";
import type { CurveAxis, CurveData, CurveRecord, CurvesRequest } from "../../api/types.gen";
import { chartOf, recordOf } from "../../lib/charts/chart";
import { idOf, type Placed } from "../../lib/charts/layout";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { type Curve, curveOf } from "../charts";
import { askedOf, hasBand, spanOf, xOf, zoomOf } from "./choice";
import { pointsOf } from "./points/points";

/** More points than a chart has pixels; a longer curve keeps its extremes. */
const POINTS = 2000;

/** A curve as the server sent it, and as it is drawn; none of the latter without a value. */
export interface Drawn {
  data: CurveData;
  curve: Curve | null;
  /** What stands across it. */
  x: string;
}

interface Curves {
  /** The curves of a chart, of the run first; undefined until they are loaded. */
  curvesOf: (of: Placed) => readonly Drawn[] | undefined;
  /** The address of all their points, as a file. */
  csvOf: (of: Placed) => string;
  error: ApiError | null;
  again: () => void;
}

/** The curve that stands across, of the split of the page; tokens are those of the first split, whatever is read. */
function axisOf(x: string, split: string): CurveAxis | null {
  const chart = x === "" ? null : chartOf(x);
  if (chart === null) return null;
  const { kind, name, source, stat } = recordOf(chart, SPLITLESS.has(chart.kind) ? "" : split);
  return { kind, name, source, stat };
}

const SPLITLESS: ReadonlySet<string> = new Set(["trainer", "elapsed", "cumulative"]);

export function useCurves(shown: readonly Placed[]): Curves {
  const session = useSession();
  const split = session.place.field.split.value ?? "";
  const runs = [...(session.run.now.value === null ? [] : [session.run.now.value]), ...session.overlays.runs.value];
  const ids = runs.map(({ id }) => id);
  const recordFor = ({ chart }: Placed, isFile: boolean): CurveRecord => {
    const asked = askedOf(session, chart);
    const { last: last_step, ...which } = pointsOf(asked);
    const [x_min, x_max] = (isFile ? null : zoomOf(asked)) ?? [null, null];
    const options = { spread: !isFile || hasBand(asked), smooth: spanOf(asked), ...which, last_step, x_min, x_max };
    const ofSplit = chart.kind === "trainer" || chart.kind === "elapsed" ? "" : split;
    return recordOf({ ...chart, options }, ofSplit, axisOf(xOf(asked), split));
  };
  const requestOf = (curves: CurveRecord[]): CurvesRequest => ({
    runs: ids,
    curves,
    points: POINTS,
    step_min: null,
    step_max: null,
  });
  const charts = shown.map(({ chart }) => ({ id: idOf(chart), x: xOf(askedOf(session, chart)) }));
  const records = shown.map((one) => recordFor(one, false));
  const loaded = useFollowed(
    shown.length === 0 ? null : JSON.stringify([ids, split]),
    runs.map(({ version }) => version).join(" "),
    async () => ({ charts, curves: (await getCurves(requestOf(records))).curves }),
    JSON.stringify([charts, records]),
  );
  const answer = loaded.value;
  const drawn = useMemo(() => {
    const all = (answer?.curves ?? []).map((data) => ({
      data,
      curve: data.error === "" && data.steps.length > 0 ? curveOf(data) : null,
      x: answer?.charts[data.curve]?.x ?? "",
    }));
    return new Map(
      (answer?.charts ?? []).map(({ id }, at): [string, Drawn[]] => [id, all.filter(({ data }) => data.curve === at)]),
    );
  }, [answer]);
  return {
    curvesOf: ({ chart }) => drawn.get(idOf(chart)),
    csvOf: (of) => curveCsv(requestOf([recordFor(of, true)])),
    error: loaded.error,
    again: loaded.again,
  };
}
