/** Of which steps the list is: the one that is looked at, a range, or all of the split. */

import type { Extent } from "../../lib/address";
import { widen } from "../../state/filter";
import { field } from "../../state/place";
import { lastStep, steps } from "../../state/steps";
import { StepEnd } from "../../ui/StepEnd";
import style from "./List.module.css";

const kindOf = (extent: Extent): "step" | "range" | "run" => (typeof extent === "string" ? extent : "range");

export function ScopeField() {
  const extent = field.extent.value;
  const step = field.step.value;
  const choose = (kind: string): void => {
    if (kind === "step" || kind === "run") widen(kind);
    else widen([steps.peek()?.steps[0] ?? null, step ?? lastStep.peek()]);
  };
  return (
    <>
      <select class="field" aria-label="Steps of the list" value={kindOf(extent)} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="step">This step</option>
        <option value="range">Steps …</option>
        <option value="run">All steps</option>
      </select>
      {typeof extent !== "string" && <Range from={extent[0]} to={extent[1]} />}
    </>
  );
}

function Range({ from, to }: { from: number | null; to: number | null }) {
  return (
    <span class={style["range"]}>
      <StepEnd words="First step" value={from} choose={(end) => widen([end, to])} />–
      <StepEnd words="Last step" value={to} choose={(end) => widen([from, end])} />
    </span>
  );
}
