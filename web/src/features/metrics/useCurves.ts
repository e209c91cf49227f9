/** The curves of the shown charts, for the run and those drawn over it: one request, again when a run changes. */

import { useMemo } from "preact/hooks";
import type { ApiError } from "../../api";
import { curveCsv, getCurves } from "../../api";
import type { CurveAxis, CurveData, CurveGroup, CurveRecord, CurvesRequest } from "../../api/types.gen";
import { chartOf, recordOf } from "../../lib/charts/chart";
import { idOf, type Placed } from "../../lib/charts/layout";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { type Curve, curveOf } from "../charts";
import { askedOf, groupOf, pageAsked, spanOf, xOf, zoomOf } from "./choice";
import { bandOf } from "./band/band";
import { statOf } from "./figure/figure";
import { splitOf, whereOf } from "./filter/filter";
import { pointsOf } from "./points/points";
import { averaged, wholeOf } from "./smoothing/average";
import { draggedSpan } from "./smoothing/slider";
import { useAllPoints } from "./smoothing/useAllPoints";

/** More points than a chart has pixels; a longer curve keeps its extremes. */
const POINTS = 2000;
/** For many runs: as many as a chart has pixels. */
const LEAST_POINTS = 500;
/** About as many as a chart draws within a frame or two. */
const POINTS_OF_ALL = 25_000;
/** Curves of so many points fit into one answer, each run counted. */
const MOST_CURVES = 500;
/** As many points of a curve, and of all of them, as the server answers. */
const [MOST_OF_ONE, MOST_OF_ANSWER] = [20_000, 1_000_000];

/** A curve as the server sent it, and as it is drawn; none of the latter without a value. */
export interface Drawn {
  data: CurveData;
  curve: Curve | null;
  /** What stands across it. */
  x: string;
}

interface Curves {
  /** For each curve of a chart those of the runs, the run itself first; undefined until they are loaded. */
  curvesOf: (of: Placed) => readonly (readonly Drawn[])[] | undefined;
  /** The groups that the curves are of; null where each is of a run. */
  groups: readonly CurveGroup[] | null;
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

/** Ask for all curves, in one request unless the server refuses so many; for each curve those of the runs. */
async function inParts(
  records: readonly CurveRecord[],
  most: number,
  requestOf: (records: CurveRecord[]) => CurvesRequest,
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

const SPLITLESS: ReadonlySet<string> = new Set(["trainer", "elapsed", "cumulative"]);

export function useCurves(shown: readonly Placed[]): Curves {
  const session = useSession();
  const split = session.place.field.split.value ?? "";
  const runs = [...(session.run.now.value === null ? [] : [session.run.now.value]), ...session.overlays.runs.value];
  const ids = runs.map(({ id }) => id);
  const group = ids.length > 1 ? groupOf(pageAsked(session)) : "";
  const recordsFor = (placed: Placed, isFile: boolean): CurveRecord[] => {
    const asked = askedOf(session, placed.chart);
    const { last: last_step, ...which } = pointsOf(asked);
    const band = bandOf(asked, group !== "");
    const [x_min, x_max] = (isFile ? null : zoomOf(asked)) ?? [null, null];
    const options = {
      spread: !isFile || band.scale > 0,
      band: group === "" ? band.between : "",
      where: whereOf(asked),
      smooth: spanOf(asked),
      ...which,
      last_step,
      x_min,
      x_max,
    };
    const x = axisOf(xOf(asked), split);
    return [placed, ...placed.series].map(({ chart }) =>
      recordOf(
        { ...chart, stat: statOf(asked, chart), options: { ...chart.options, ...options } },
        chart.kind === "trainer" || chart.kind === "elapsed" ? "" : splitOf(asked, split),
        x,
      ),
    );
  };
  const requestOf = (
    curves: CurveRecord[],
    points = Math.max(LEAST_POINTS, Math.min(POINTS, Math.floor(POINTS_OF_ALL / ids.length))),
  ): CurvesRequest => ({
    runs: ids,
    curves,
    points,
    step_min: null,
    step_max: null,
    group_by: group,
  });
  const charts = shown.map(({ chart, series }) => {
    const asked = askedOf(session, chart);
    return { id: idOf(chart), x: xOf(asked), span: spanOf(asked), count: series.length + 1 };
  });
  const records = shown.flatMap((one) => recordsFor(one, false));
  const wholes = records.map(wholeOf);
  const of = JSON.stringify([ids, split]);
  const ofWholes = JSON.stringify([of, wholes]);
  const versions = runs.map(({ version }) => version).join(" ");
  const most = Math.floor(MOST_CURVES / ids.length);
  const loaded = useFollowed(
    shown.length === 0 ? null : of,
    versions,
    async () => ({
      charts,
      ofWholes,
      hasAll: group === "" && !shown.some(({ chart }) => zoomOf(askedOf(session, chart)) !== null),
      ...(await inParts(records, most, (some) => requestOf(some))),
    }),
    JSON.stringify([charts, records, group]),
  );
  const answer = loaded.value;
  const all = useAllPoints(answer, group === "" ? of : null, ofWholes, versions, async () => {
    const points = Math.min(MOST_OF_ONE, Math.floor(MOST_OF_ANSWER / ids.length / Math.min(most, wholes.length)));
    return (await inParts(wholes, most, (some) => requestOf(some, points))).curves;
  });
  const spans = new Map(
    shown.map(({ chart }) => {
      const span = chart.look["ema"] === undefined ? draggedSpan.value : null;
      return [idOf(chart), span ?? spanOf(askedOf(session, chart))];
    }),
  );
  const drawn = useMemo(() => {
    const byChart = new Map<string, Drawn[][]>();
    let at = 0;
    for (const { id, x, span, count } of answer?.charts ?? []) {
      const curves = answer?.curves.slice(at, at + count) ?? [];
      const now = spans.get(id) ?? span;
      byChart.set(
        id,
        curves.map((each, i) =>
          each.map((data, run) => {
            const curve = data.error === "" && data.steps.length > 0 ? curveOf(data) : null;
            const points = now === span || curve === null ? null : all?.[at + i]?.[run];
            return { data, curve: (curve && points && averaged(curve, points, now)) ?? curve, x };
          }),
        ),
      );
      at += count;
    }
    return byChart;
    // The spans are another object each time.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [answer, all, [...spans].join(" ")]);
  return {
    curvesOf: ({ chart }) => drawn.get(idOf(chart)),
    groups: answer?.groups ?? null,
    csvOf: (placed) => curveCsv(requestOf(recordsFor(placed, true))),
    error: loaded.error,
    again: loaded.again,
  };
}
