/** A column for a metric that a person chooses: its last, highest, lowest or smoothed value in every run. */

import { getRunMetrics } from "../../../api/compare";
import type { RunMetricItem, WireNumber } from "../../../api/types.gen";
import { type Chart, isShare, recordOf } from "../../../lib/charts/chart";
import { figure, finite } from "../../../lib/numbers/numbers";
import { wordsOfValues } from "../../../lib/numbers/percent";
import type { Column } from "../table/columns";

export const KINDS = ["last", "highest", "lowest", "smoothed"] as const;
export type ValueKind = (typeof KINDS)[number];

/** The span of the moving average, in steps. */
export const SPAN_STEPS = 20;

export interface MetricChoice {
  chart: Chart;
  title: string;
  kind: ValueKind;
}

export type Metrics = ReadonlyMap<string, RunMetricItem>;

/** The metric of all runs. The server answers for as many runs as time allows; the page asks again for the others. */
export async function loadMetrics(chart: Chart): Promise<Metrics> {
  const curve = recordOf({ ...chart, options: { smooth: SPAN_STEPS } }, "");
  for (let before = Infinity; ;) {
    // oxlint-disable-next-line no-await-in-loop -- each answer continues the one before
    const { runs, left } = await getRunMetrics({ runs: [], curve });
    if (left === 0 || left >= before) return new Map(runs.map((one) => [one.run, one]));
    before = left;
  }
}

function valueIn(item: RunMetricItem, kind: ValueKind): WireNumber {
  return kind === "smoothed" ? item.smooth : item[kind];
}

/** The column of a choice, without values while they are loading. */
export function metricColumn({ chart, title, kind }: MetricChoice, metrics: Metrics | null): Column {
  const about = kind === "smoothed" ? `smoothed over ${figure(SPAN_STEPS)} steps, at the last step` : `${kind} value`;
  return {
    key: "metric",
    label: `${title}, ${kind}`,
    title: `${chart.name || title}: ${about}`,
    px: 120,
    isNumber: true,
    startsDown: kind !== "lowest",
    write: wordsOfValues(isShare(chart)),
    value: ({ id }) => {
      const item = metrics?.get(id);
      return item === undefined ? null : finite(valueIn(item, kind));
    },
  };
}
