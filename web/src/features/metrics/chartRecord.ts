/**
 * The request of a chart: its curve, with the options of the chart and the page. The page of metrics and the pane
 * beside the rollouts share it.
 */

import type { CurveQuery } from "../../api/types.gen";
import { type Chart, chartOf, recordOf } from "../../lib/charts/chart";
import type { Session } from "../../state/session";
import { bandOf } from "./band/band";
import { askedOf, spanOf, xOf, zoomOf } from "./choice";
import { statOf } from "./figure/figure";
import { splitOf, whereOf } from "./filter/filter";
import { pointsOf } from "./points/points";

const SPLITLESS: ReadonlySet<string> = new Set(["trainer", "elapsed", "cumulative"]);

/** The curve of x, for the split of the page; tokens are always those of the first split. */
function axisOf(x: string, split: string): CurveQuery | null {
  const chart = x === "" ? null : chartOf(x);
  if (chart === null) return null;
  return recordOf({ ...chart, options: null }, SPLITLESS.has(chart.kind) ? "" : split);
}

/** The record of a curve `of` a chart, which may have several; `isFile`: without limits, for a download. */
export function chartRecord(
  session: Session,
  chart: Chart,
  of: Chart,
  isGrouped: boolean,
  isFile: boolean,
): CurveQuery {
  const split = session.place.field.split.value ?? "";
  const asked = askedOf(session, chart);
  const { last: last_step, ...which } = pointsOf(asked);
  const band = bandOf(asked, isGrouped);
  const [x_min, x_max] = (isFile ? null : zoomOf(asked)) ?? [null, null];
  const options = {
    spread: !isFile || band.scale > 0,
    band: isGrouped ? "" : band.between,
    where: whereOf(asked),
    smooth: spanOf(asked, chart.options?.smooth),
    ...which,
    last_step,
    x_min,
    x_max,
  };
  return recordOf(
    { ...of, stat: statOf(asked, of), options: { ...of.options, ...options } },
    ["trainer", "elapsed", "eval"].includes(of.kind) ? "" : splitOf(asked, split),
    axisOf(xOf(asked), split),
  );
}
