/** The steps of the list: the current one, a range, or all of the split. */

import { useSession } from "../../state/useSession";
import type { Extent } from "../../lib/address/address";
import { StepEnd } from "../../ui/controls/StepEnd";
import style from "./List.module.css";

const kindOf = (extent: Extent): "step" | "range" | "run" => (typeof extent === "string" ? extent : "range");

export function ScopeField() {
  const session = useSession();
  const extent = session.place.field.extent.value;
  const step = session.place.field.step.value;
  const choose = (kind: string): void => {
    if (kind === "step" || kind === "run") session.filter.widen(kind);
    else session.filter.widen([session.steps.reply.peek()?.steps[0] ?? null, step ?? session.steps.last.peek()]);
  };
  return (
    <>
      <select
        class="field"
        aria-label="Steps of the list"
        value={kindOf(extent)}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="step">This step</option>
        <option value="range">Steps …</option>
        <option value="run">All steps</option>
      </select>
      {typeof extent !== "string" && <Range from={extent[0]} to={extent[1]} />}
    </>
  );
}

function Range({ from, to }: { from: number | null; to: number | null }) {
  const session = useSession();
  return (
    <span class={style["range"]}>
      <StepEnd words="First step" value={from} choose={(end) => session.filter.widen([end, to])} />–
      <StepEnd words="Last step" value={to} choose={(end) => session.filter.widen([from, end])} />
    </span>
  );
}
