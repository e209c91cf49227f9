/** Of which steps the list is: the one that is looked at, a range, or all of the split. */

import { useLayoutEffect, useState } from "preact/hooks";
import type { Extent } from "../../lib/address";
import { figure, whole } from "../../lib/numbers";
import { widen } from "../../state/filter";
import { place } from "../../state/place";
import { lastStep, steps } from "../../state/steps";
import style from "./List.module.css";

const kindOf = (extent: Extent): "step" | "range" | "run" => (typeof extent === "string" ? extent : "range");

export function ScopeField() {
  const { extent, step } = place.value;
  const choose = (kind: string): void => {
    if (kind === "step" || kind === "run") widen(kind);
    else widen([steps.peek()?.steps[0] ?? null, step ?? lastStep.peek()]);
  };
  return (
    <>
      <select class="field" aria-label="Steps of the list" value={kindOf(extent)} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="step">{step === null ? "Step" : `Step ${figure(step)}`}</option>
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
      <End words="First step" value={from} choose={(end) => widen([end, to])} />–
      <End words="Last step" value={to} choose={(end) => widen([from, end])} />
    </span>
  );
}

function End({ words, value, choose }: { words: string; value: number | null; choose: (end: number | null) => void }) {
  const [text, setText] = useState("");
  const own = value === null ? "" : String(value);
  // At once: later it would take away what was typed meanwhile.
  useLayoutEffect(() => setText(own), [own]);
  const end = whole(text);
  const isRead = text.trim() === "" || end !== null;
  const take = (): void => {
    if (isRead && end !== value) choose(end);
    else setText(own);
  };
  return (
    <input
      class="field"
      aria-label={words}
      title={`${words}; empty for the ${words === "First step" ? "first" : "last"} there is`}
      inputMode="numeric"
      autocomplete="off"
      aria-invalid={!isRead}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === "Enter") take();
      }}
    />
  );
}
