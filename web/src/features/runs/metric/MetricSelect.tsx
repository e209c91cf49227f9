/** Chooses the metric of a column of the table of runs, and which of its values to show. */

import { getRunsCatalogue } from "../../../api/compare";
import { chartOfEntry } from "../../../lib/charts/catalogue";
import { harmless } from "../../../lib/text/invisible";
import { CurveFinder } from "../../../ui/controls/CurveFinder";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Popover } from "../../../ui/overlay/Popover";
import { KINDS, type MetricChoice, SPAN_STEPS } from "./metricColumn";
import style from "../RunsPage.module.css";

interface Props {
  /** Identifies the runs. */
  ids: string;
  now: MetricChoice | null;
  /** Called with another metric, or null for none. */
  chosen: (choice: MetricChoice | null) => void;
}

export function MetricSelect({ ids, now, chosen }: Props) {
  return (
    <span class={style["metric"]}>
      <Popover
        label="Column of a metric"
        buttonClass="button"
        button={<span class="clip">{now === null ? "Metric …" : harmless(now.chart.name || now.title)}</span>}
      >
        {(close) => (
          <Choices
            {...{ ids, now }}
            chosen={(choice) => {
              chosen(choice);
              close();
            }}
          />
        )}
      </Popover>
      {now !== null && (
        <select
          class="field"
          aria-label={`Which value of ${harmless(now.title)}`}
          value={now.kind}
          onChange={({ currentTarget }) => {
            const kind = KINDS.find((one) => one === currentTarget.value) ?? "last";
            chosen({ ...now, kind });
          }}
        >
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kind === "smoothed" ? `smoothed over ${SPAN_STEPS} steps` : kind}
            </option>
          ))}
        </select>
      )}
    </span>
  );
}

function Choices({ ids, now, chosen }: Props) {
  const loaded = useLoaded(ids, getRunsCatalogue, "catalogue");
  return (
    <div class={style["choices"]}>
      {loaded.error !== null && <span role="alert">{loaded.error.message}</span>}
      {now !== null && (
        <button type="button" class="action" onClick={() => chosen(null)}>
          No metric
        </button>
      )}
      {loaded.value === null ? (
        <span role="status">Loading metrics …</span>
      ) : (
        <CurveFinder
          label="Find a metric"
          entries={loaded.value.entries}
          choose={(entry) => chosen({ chart: chartOfEntry(entry), title: entry.title, kind: now?.kind ?? "last" })}
        />
      )}
    </div>
  );
}
