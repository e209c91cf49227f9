/** The curves of the shown charts, for the run and the overlaid runs: one request, repeated when a run changes. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ApiError } from "../../api";
import { curveCsv, getCurves } from "../../api";
import type { CurveData, CurveGroup, CurveQuery, CurvesRequest } from "../../api/types.gen";
import { spanFor } from "../../lib/charts/chart";
import { idOf, type Placed } from "../../lib/charts/layout";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { type Curve, curveOf, type Range } from "../charts";
import { askedOf, groupOf, pageAsked, spanOf, xOf, zoomOf } from "./choice";
import { chartRecord } from "./chartRecord";
import { averaged, wholeOf } from "./smoothing/average";
import { cutOf } from "./smoothing/cut";
import { draggedSpan, visits } from "./smoothing/slider";
import { useAllPoints, type Wholes } from "./smoothing/useAllPoints";

/** More points than a chart has pixels; a longer curve keeps its extremes. */
const POINTS = 2000;
/** The same for many runs: as many as a chart has pixels. */
const LEAST_POINTS = 500;
/** About the most points that a chart draws within two frames. */
const POINTS_OF_ALL = 25_000;
/** Points in one answer, over all curves and runs. */
const MOST_CURVES = 500;
/** The most points of a curve, and of all curves, that the server sends. */
const [MOST_OF_ONE, MOST_OF_ANSWER] = [20_000, 1_000_000];

/** A curve as the server sent it, and as it is drawn, or null without a value. */
export interface Drawn {
  data: CurveData;
  curve: Curve | null;
  /** The span of its average in steps; 0 for none. */
  span: number;
  /** Its x. */
  x: string;
}

interface Curves {
  /**
   * For each curve of a chart, the curves of the runs, beginning with the current run; undefined until they are loaded.
   */
  curvesOf: (of: Placed) => readonly (readonly Drawn[])[] | undefined;
  /** The groups of runs that the curves belong to; null if each belongs to one run. */
  groups: readonly CurveGroup[] | null;
  /** The address of all their points, as a file. */
  csvOf: (of: Placed) => string;
  error: ApiError | null;
  again: () => void;
}

/** Request all curves, at once unless the server refuses so many. Returns the curves of the runs for each curve. */
async function inParts(
  records: readonly CurveQuery[],
  most: number,
  requestOf: (records: CurveQuery[]) => CurvesRequest,
): Promise<{ curves: CurveData[][]; groups: readonly CurveGroup[] | null }> {
  const parts = Array.from({ length: Math.ceil(records.length / most) }, (_, i) =>
    records.slice(i * most, (i + 1) * most),
  );
  const replies = await Promise.all(parts.map(async (part) => getCurves(requestOf(part))));
  const curves = replies.flatMap((reply, i) =>
    (parts[i] ?? []).map((_, at) => reply.curves.filter(({ curve }) => curve === at)),
  );
  return { curves, groups: replies[0]?.groups ?? null };
}

/** How a chart shows its curves. */
interface View {
  id: string;
  x: string;
  span: number;
  zoom: Range | null;
  count: number;
}

const isSame = (one: Range | null, other: Range | null): boolean => one?.join(" ") === other?.join(" ");

/** True if `all` points suffice to draw charts that were loaded with other spans and ranges. */
const areCut = (from: readonly View[], to: readonly View[], { points, isCurrent }: Wholes): boolean =>
  isCurrent &&
  points.flat().every((one) => one !== null) &&
  from.every(({ x, zoom }, i) => x === to[i]?.x && (x === "" || isSame(zoom, to[i]?.zoom ?? null)));

/** `version` replaces the versions of the runs: curves of it are loaded again when it changes. */
export function useCurves(shown: readonly Placed[], version: string | null = null): Curves {
  const session = useSession();
  const split = session.place.field.split.value ?? "";
  const runs = [...(session.run.now.value === null ? [] : [session.run.now.value]), ...session.overlays.runs.value];
  const ids = runs.map(({ id }) => id);
  const group = ids.length > 1 ? groupOf(pageAsked(session)) : "";
  const recordsFor = ({ chart, series }: Placed, isFile: boolean): CurveQuery[] =>
    [chart, ...series.map((one) => one.chart)].map((of) => chartRecord(session, chart, of, group !== "", isFile));
  const most = Math.max(LEAST_POINTS, Math.min(POINTS, Math.floor(POINTS_OF_ALL / ids.length)));
  const requestOf = (curves: CurveQuery[], points = most): CurvesRequest => ({
    runs: ids,
    curves,
    points,
    step_min: null,
    step_max: null,
    group_by: group,
  });
  const charts = shown.map(({ chart, series }): View => {
    const asked = askedOf(session, chart);
    const x = xOf(asked);
    return {
      id: idOf(chart),
      x,
      span: spanOf(asked, chart.options?.smooth),
      zoom: zoomOf(asked),
      count: series.length + 1,
    };
  });
  const records = shown.flatMap((one) => recordsFor(one, false));
  const wholes = records.map(wholeOf);
  const of = JSON.stringify([ids, split]);
  const ofWholes = JSON.stringify([of, group, wholes]);
  const versions = version ?? runs.map((run) => run.version).join(" ");
  const mostCurves = Math.floor(MOST_CURVES / ids.length);
  const here = useRef<Wholes | null>(null);
  const asked = useRef({ ofWholes, charts, records });
  if (here.current?.ofWholes !== ofWholes || !areCut(asked.current.charts, charts, here.current))
    asked.current = { ofWholes, charts, records };
  const loaded = useFollowed(
    shown.length === 0 ? null : of,
    versions,
    async () => {
      const { records: wanted, ...what } = asked.current;
      const hasAll = group === "" && what.charts.every(({ zoom }) => zoom === null);
      return { ...what, hasAll, ...(await inParts(wanted, mostCurves, (some) => requestOf(some))) };
    },
    JSON.stringify([asked.current, group]),
  );
  const answer = loaded.value;
  const all = useAllPoints(answer, group === "" ? of : null, ofWholes, versions, async () => {
    const points = Math.min(MOST_OF_ONE, Math.floor(MOST_OF_ANSWER / ids.length / Math.min(mostCurves, wholes.length)));
    return (await inParts(wholes, mostCurves, (some) => requestOf(some, points))).curves;
  });
  here.current = all;
  const views = new Map(
    shown.map(({ chart }, i) => {
      const span = chart.look["ema"] === undefined ? draggedSpan.value : null;
      return [idOf(chart), { zoom: charts[i]?.zoom ?? null, span: span ?? charts[i]?.span ?? 0 }];
    }),
  );
  const points = all?.points;
  const isNear = visits.value > 0;
  useEffect(() => {
    // Prepares the first zoom: the averages do not depend on the range, and the code is compiled.
    const spans = (answer?.charts ?? []).flatMap(({ span, count }) => Array.from({ length: count }, () => span));
    if (isNear) points?.forEach((each, i) => each.forEach((own) => own && cutOf(own, null, most, spans[i] ?? 0)));
    // Once for all points; the zoom itself checks everything else.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [points, isNear]);
  const drawn = useMemo(() => {
    const byChart = new Map<string, Drawn[][]>();
    let at = 0;
    for (const { count, ...from } of answer?.charts ?? []) {
      const view = views.get(from.id) ?? from;
      const curves = answer?.curves.slice(at, at + count).map((each, i) =>
        each.map((data, run): Drawn => {
          const { x } = from;
          const own = points?.[at + i]?.[run] ?? null;
          const isCut = own !== null && x === "" && !isSame(view.zoom, from.zoom);
          const shownData = isCut ? cutOf(own, view.zoom, most, view.span) : data;
          const curve = shownData.error === "" && shownData.steps.length > 0 ? curveOf(shownData) : null;
          const isAveraged = curve !== null && own !== null && !isCut && view.span !== from.span;
          const isPlain = own === null ? data.smooth === null : spanFor(view.span, own.values.length) === 0;
          const span = isPlain ? 0 : spanFor(view.span, own?.values.length ?? data.points);
          return { data: shownData, curve: isAveraged ? (averaged(curve, own, view.span) ?? curve) : curve, span, x };
        }),
      );
      byChart.set(from.id, curves ?? []);
      at += count;
    }
    return byChart;
    // The views are new objects each time.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [answer, points, most, JSON.stringify([...views])]);
  return {
    curvesOf: ({ chart }) => drawn.get(idOf(chart)),
    groups: answer?.groups ?? null,
    csvOf: (placed) => curveCsv(requestOf(recordsFor(placed, true))),
    error: loaded.error,
    again: loaded.again,
  };
}
