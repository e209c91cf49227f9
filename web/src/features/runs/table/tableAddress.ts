/** The metric and the order of the table of runs, as the address holds them. */

import { chartOf, textOf } from "../../../lib/charts/chart";
import { KINDS, type MetricChoice } from "../metric/metricColumn";
import type { Sort } from "./columns";

type Ask = Readonly<Record<string, string>>;

export interface TableChoice {
  metric: MetricChoice | null;
  /** Null for the order of discovery. */
  sort: Sort | null;
}

/** Read the options of the address. A chart that nobody named is called by its curve. */
export function choiceIn({ curve = "", value = "", rows = "" }: Ask): TableChoice {
  const chart = chartOf(curve);
  const kind = KINDS.find((one) => one === value) ?? "last";
  const key = rows.replace(/^-/u, "");
  return {
    metric: chart === null ? null : { chart: { ...chart, title: "" }, title: chart.title || chart.name, kind },
    sort: key === "" ? null : { key, isDescending: rows.startsWith("-") },
  };
}

/** Write the options, with the title of the metric, because its catalogue takes a while. */
export function askOf({ metric, sort }: TableChoice): Ask {
  return {
    ...(metric === null ? {} : { curve: textOf({ ...metric.chart, title: metric.title }) }),
    ...(metric === null || metric.kind === "last" ? {} : { value: metric.kind }),
    ...(sort === null ? {} : { rows: `${sort.isDescending ? "-" : ""}${sort.key}` }),
  };
}
