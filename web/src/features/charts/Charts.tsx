/** The curves of the run beside what it wrote. */

import { useState } from "preact/hooks";
import { figure, score } from "../../lib/numbers";
import type { RunItem, WireNumber } from "../../api/types.gen";
import { colourOf, nameOf } from "../../state/marks";
import { overlays, toggleOverlay } from "../../state/overlays";
import { place } from "../../state/place";
import { run } from "../../state/runs";
import { choose } from "../../state/settings";
import { stepIndex, steps, stepsError } from "../../state/steps";
import { RewardChart } from "./RewardChart";
import style from "./Charts.module.css";

export const SPAN = 10;

/** `isAside`: in a pane of their own, which can be folded away. */
export function Charts({ isAside = true }: { isAside?: boolean }) {
  const known = steps.value;
  const own = run.value;
  const [pointed, point] = useState<number | null>(null);
  const hovered = pointed === null ? -1 : (known?.steps.indexOf(pointed) ?? -1);
  const at = hovered >= 0 ? hovered : pointed !== null || stepIndex.value < 0 ? null : stepIndex.value;
  const step = pointed ?? place.value.step;
  const excluded = at === null ? 0 : (known?.reward_excluded[at] ?? 0);
  return (
    <>
      <div class={style["bar"]}>
        <h2>Charts</h2>
        <span>EMA {SPAN} · click a point to go there</span>
        {isAside && (
          <button type="button" class="action" aria-label="Fold the charts away" title="Fold the charts away" onClick={() => choose({ rightOpen: false })}>
            ›
          </button>
        )}
      </div>
      <section class={style["chart"]} aria-label="Reward by step">
        <h3>
          Reward <small>mean ± std{pointed === null ? "" : ` · step ${figure(pointed)}`}</small>
          <b>{at === null ? "" : score(known?.reward_mean[at], "none")}</b>
        </h3>
        {known === null || known.steps.length === 0 ? (
          <p class={style["empty"]}>{stepsError.value?.message ?? (known === null ? "" : "No step yet.")}</p>
        ) : (
          <RewardChart
            steps={known}
            colour={own === null ? 1 : colourOf(own.id)}
            others={overlays.value.map(({ item, steps: theirs }) => ({ steps: theirs, colour: colourOf(item.id) }))}
            current={place.value.step}
            hover={point}
          />
        )}
        {overlays.value.length > 0 && (
          <ul class={style["legend"]} aria-label="Runs in the chart">
            {own !== null && <Line item={own} value={at === null ? null : (known?.reward_mean[at] ?? null)} />}
            {overlays.value.map(({ item, steps: theirs }) => (
              <Line key={item.id} item={item} value={theirs?.reward_mean[theirs.steps.indexOf(step ?? NaN)] ?? null} none={theirs === null ? "no such split" : "–"} isOver />
            ))}
          </ul>
        )}
        {excluded > 0 && <p class={style["note"]}>{figure(excluded)} without a finite reward, left out of the mean</p>}
      </section>
    </>
  );
}

/** A run in the legend, with its mean at the step; those drawn over another can be taken away. */
function Line({ item, value, none = "–", isOver = false }: { item: RunItem; value: WireNumber; none?: string; isOver?: boolean }) {
  const name = nameOf(item);
  return (
    <li>
      <i style={{ background: `var(--run-${colourOf(item.id)})` }} />
      <span class="clip" title={name}>{name}</span>
      <b>{score(value, none)}</b>
      {isOver && (
        <button type="button" class="action" aria-label={`Take ${name} out of the chart`} title="Take it out" onClick={() => toggleOverlay(item.id)}>
          ×
        </button>
      )}
    </li>
  );
}
