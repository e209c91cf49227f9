/** Chooses x: the step, the time, the tokens so far, or any metric. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { useState } from "preact/hooks";
import { STEP } from "../../../lib/charts/across";
import { chartOfEntry, isProgress, sectionsOf } from "../../../lib/charts/catalogue";
import { textOf } from "../../../lib/charts/chart";
import { harmless } from "../../../lib/text/invisible";
import { xTitle } from "../choice";

/** Choices that a run may lack, with the reason. */
const LACKED = [
  { kind: "elapsed", words: "elapsed time: the trainer logged no times" },
  { kind: "cumulative", words: "tokens so far: no sample has tokens" },
];
/** More options take long to draw. */
const MOST_OPTIONS = 1000;

interface Props {
  /** Empty for the step; undefined for the choice of the page. */
  value: string | undefined;
  entries: readonly CatalogueEntry[];
  choose: (text: string) => void;
  /** The x of the page, for a chart that may differ from it. */
  ofPage?: string;
}

export function XSelect({ value, entries, choose, ofPage }: Props) {
  // A run may have very many metrics: they are listed on demand.
  const [isNear, setNear] = useState(false);
  const progress = entries.filter(({ kind }) => isProgress(kind));
  const others = entries.filter(({ kind }) => !isProgress(kind)).slice(0, MOST_OPTIONS);
  const isListed = isNear || value === undefined || value === "" || progress.some((one) => textOfEntry(one) === value);
  return (
    <select
      class="field"
      aria-label={ofPage === undefined ? "Across all charts" : "Across"}
      value={value === undefined ? "" : value || STEP}
      onPointerEnter={() => setNear(true)}
      onFocus={() => setNear(true)}
      onChange={({ currentTarget }) =>
        choose(currentTarget.value === STEP && ofPage === undefined ? "" : currentTarget.value)
      }
    >
      {ofPage !== undefined && <option value="">as on the page: {harmless(xTitle(ofPage, entries))}</option>}
      <option value={STEP}>step</option>
      {progress.map((entry) => (
        <option key={entry.kind} value={textOfEntry(entry)}>
          {entry.title.toLowerCase()}
        </option>
      ))}
      {LACKED.filter(({ kind }) => !progress.some((one) => one.kind === kind)).map(({ kind, words }) => (
        <option key={kind} disabled>
          {words}
        </option>
      ))}
      {!isListed && <option value={value}>{harmless(xTitle(value ?? "", entries))}</option>}
      {isNear &&
        sectionsOf(others).map(({ name, entries: all }) => (
          <optgroup key={name} label={harmless(name)}>
            {all.map((entry) => (
              <option key={textOfEntry(entry)} value={textOfEntry(entry)}>
                {harmless(entry.title)}
              </option>
            ))}
          </optgroup>
        ))}
    </select>
  );
}

const textOfEntry = (entry: CatalogueEntry): string => textOf(chartOfEntry(entry));
