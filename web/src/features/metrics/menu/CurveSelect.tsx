/** Adds a curve of the catalogue to a chart. */

import { useState } from "preact/hooks";
import type { CatalogueEntry } from "../../../api/types.gen";
import { chartOfEntry, sectionsOf } from "../../../lib/charts/catalogue";
import { plain, textOf } from "../../../lib/charts/chart";
import type { Placed } from "../../../lib/charts/layout";
import { harmless } from "../../../lib/text/invisible";

/** More options take long to draw. */
const MOST_OPTIONS = 1000;

interface Props {
  placed: Placed;
  entries: readonly CatalogueEntry[];
  join: (text: string) => void;
}

export function CurveSelect({ placed, entries, join }: Props) {
  const [isNear, setNear] = useState(false);
  const known = new Set([textOf(plain(placed.chart)), ...placed.chart.more]);
  const further = entries.filter((one) => !known.has(textOf(chartOfEntry(one)))).slice(0, MOST_OPTIONS);
  return (
    <select
      class="field"
      aria-label="Add a curve to this chart"
      value=""
      onPointerEnter={() => setNear(true)}
      onFocus={() => setNear(true)}
      onChange={({ currentTarget }) => {
        join(currentTarget.value);
        currentTarget.value = "";
      }}
    >
      <option value="">Add a curve …</option>
      {isNear &&
        sectionsOf(further).map(({ name, entries: all }) => (
          <optgroup key={name} label={harmless(name)}>
            {all.map((entry) => (
              <option key={textOf(chartOfEntry(entry))} value={textOf(chartOfEntry(entry))}>
                {harmless(entry.title)}
              </option>
            ))}
          </optgroup>
        ))}
    </select>
  );
}
