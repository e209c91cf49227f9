/** Chooses the metric of a column of the table of runs, and which of its values to show. */

import { useState } from "preact/hooks";
import { getRunsCatalogue } from "../../../api/compare";
import { chartOfEntry, sectionsOf } from "../../../lib/charts/catalogue";
import { textOf } from "../../../lib/charts/chart";
import { harmless } from "../../../lib/text/invisible";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { KINDS, type MetricChoice, SPAN_STEPS } from "./metricColumn";
import style from "../RunsPage.module.css";

/** More options take long to draw. */
const MOST_OPTIONS = 1000;

interface Props {
  /** Identifies the runs. */
  ids: string;
  now: MetricChoice | null;
  /** Called with another metric, or null for none. */
  chosen: (choice: MetricChoice | null) => void;
}

export function MetricSelect({ ids, now, chosen }: Props) {
  const [isNear, setNear] = useState(false);
  const loaded = useLoaded(isNear ? ids : null, getRunsCatalogue, "catalogue");
  const entries = (loaded.value?.entries ?? []).slice(0, MOST_OPTIONS);
  const near = (): void => setNear(true);
  const text = now === null ? "" : textOf(now.chart);
  return (
    <span class={style["metric"]}>
      <select
        class="field"
        aria-label="Column of a metric"
        value={text}
        onPointerEnter={near}
        onFocus={near}
        onChange={({ currentTarget }) => {
          const entry = entries.find((one) => textOf(chartOfEntry(one)) === currentTarget.value);
          chosen(
            entry === undefined ? null : { chart: chartOfEntry(entry), title: entry.title, kind: now?.kind ?? "last" },
          );
        }}
      >
        <option value="">Metric …</option>
        {now !== null && entries.every((one) => textOf(chartOfEntry(one)) !== text) && (
          <option value={text}>{harmless(now.title)}</option>
        )}
        {sectionsOf(entries).map(({ name, entries: all }) => (
          <optgroup key={name} label={harmless(name)}>
            {all.map((entry) => (
              <option key={textOf(chartOfEntry(entry))} value={textOf(chartOfEntry(entry))}>
                {harmless(entry.title)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
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
      {loaded.error !== null && <span role="alert">{loaded.error.message}</span>}
    </span>
  );
}
