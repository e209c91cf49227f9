/** Adds a curve of the catalogue to a chart. */

import { useState } from "preact/hooks";
import type { CatalogueEntry } from "../../../api/types.gen";
import { chartOfEntry } from "../../../lib/charts/catalogue";
import { plain, textOf } from "../../../lib/charts/chart";
import type { Placed } from "../../../lib/charts/layout";
import { CurveFinder } from "../../../ui/controls/CurveFinder";

interface Props {
  placed: Placed;
  entries: readonly CatalogueEntry[];
  join: (text: string) => void;
}

export function CurveSelect({ placed, entries, join }: Props) {
  const [isOpen, open] = useState(false);
  if (!isOpen)
    return (
      <button type="button" class="action" onClick={() => open(true)}>
        Add a curve …
      </button>
    );
  const known = new Set([textOf(plain(placed.chart)), ...placed.chart.more]);
  return (
    <CurveFinder
      label="Add a curve to this chart"
      entries={entries.filter((one) => !known.has(textOf(chartOfEntry(one))))}
      choose={(entry) => join(textOf(chartOfEntry(entry)))}
    />
  );
}
