/** The filter of one chart, and its split. */

import { useId } from "preact/hooks";
import { askComplete } from "../../../api";
import type { Placed } from "../../../lib/charts/layout";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { FilterInput } from "../../list";
import type { Change } from "../choice";
import { splitOf, troubleOf, wholeSteps } from "./filter";
import style from "../Metrics.module.css";

interface Props {
  placed: Placed;
  alter: Change;
  /** Why the chart has no curve. */
  error: string;
}

export function FilterFields({ placed, alter, error }: Props) {
  const { run, place } = useSession();
  const id = useId();
  const { look } = placed.chart;
  const where = look["where"] ?? "";
  const ofPage = place.field.split.value ?? "";
  const all = run.now.value?.splits ?? [];
  const runId = run.now.value?.id ?? null;
  const whole = wholeSteps(placed.kind);
  if (whole !== "" && where === "") return <p class={style["whole"]}>{whole}</p>;
  return (
    <div class={style["filter"]}>
      <FilterInput
        id={id}
        label="Filter of this chart"
        title="Count only the samples that match"
        placeholder="Only samples with: env = math"
        of={runId}
        where={where}
        complete={(begun) =>
          runId === null ? null : askComplete(runId, { split: splitOf(look, ofPage), text: begun })
        }
        apply={(text) => alter({ where: text })}
        leaving={(apply) => apply}
        isInMenu
        error={troubleOf(where, error)}
      />
      {placed.kind !== "eval" && all.length > 1 && (
        <label>
          of
          <select
            class="field"
            aria-label="Split of this chart"
            value={look["split"] ?? ""}
            onChange={({ currentTarget }) => alter({ split: currentTarget.value })}
          >
            <option value="">as on the page: {harmless(ofPage)}</option>
            {all.map(({ name }) => (
              <option key={name} value={name}>
                {harmless(name)}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}
