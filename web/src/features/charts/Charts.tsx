/** The curves of the run beside what it wrote. */

import { useState } from "preact/hooks";
import { MAX_CHARTS } from "../../lib/address";
import { figure, score } from "../../lib/numbers";
import { OF_TRAINER } from "../../lib/usualCharts";
import { getMetricNames } from "../../api";
import type { RunItem, StepsReply, WireNumber } from "../../api/types.gen";
import { harmless } from "../../lib/visible";
import { columns, label } from "../../state/columns";
import { colourOf, nameOf } from "../../state/marks";
import { overlays, toggleOverlay } from "../../state/overlays";
import { field } from "../../state/place";
import { run } from "../../state/runs";
import { choose } from "../../state/settings";
import { stepIndex, steps, stepsError } from "../../state/steps";
import { shownCharts } from "../../state/usualCharts";
import { chooseCharts, view } from "../../state/view";
import { CurveChart, SPAN } from "./CurveChart";
import { boundsOf, type Curve, rewardOf } from "./curvesOf";
import { MetricChart } from "./MetricChart";
import { useLoaded } from "../../ui/useLoaded";
import style from "./Charts.module.css";

/** Drawn above already, or no number to draw by step. */
const OWN: ReadonlySet<string> = new Set(["reward", "step"]);

const curves = new WeakMap<StepsReply, Curve>();

/** The rewards of a run as a curve: the same one each time, so that nothing is drawn anew. */
function kept(reply: StepsReply): Curve {
  const curve = curves.get(reply) ?? rewardOf(reply);
  curves.set(reply, curve);
  return curve;
}

/** `isAside`: in a pane of their own, which can be folded away. */
export function Charts({ isAside = true }: { isAside?: boolean }) {
  const known = steps.value;
  const own = run.value;
  const [pointed, point] = useState<number | null>(null);
  const curve = known === null ? null : kept(known);
  const hovered = pointed === null ? -1 : (known?.steps.indexOf(pointed) ?? -1);
  const at = hovered >= 0 ? hovered : pointed !== null || stepIndex.value < 0 ? null : stepIndex.value;
  const split = own?.splits.find(({ name }) => name === field.split.value);
  const step = pointed ?? field.step.value;
  const excluded = at === null ? 0 : (known?.reward_excluded[at] ?? 0);
  return (
    <>
      <div class={style["bar"]}>
        <h2>Charts</h2>
        <span title="The thin line is the value of each step, the number that of the step that is looked at; a click goes to a step">thick line: EMA {SPAN}</span>
        {isAside && (
          <button type="button" class="action" aria-label="Fold the charts away" title="Fold the charts away" onClick={() => choose({ rightOpen: false })}>
            ›
          </button>
        )}
      </div>
      <div class={style["list"]} data-scroll="charts">
        <section class={style["chart"]} aria-label="Reward by step">
          <h3>
            Reward <small>{known?.steps.length === 1 ? "mean, one step" : "mean ± std"}{pointed === null ? "" : ` · step ${figure(pointed)}`}</small>
            <b>{at === null ? "" : score(known?.reward_mean[at], "none")}</b>
          </h3>
          {known === null || curve === null || known.steps.length === 0 ? (
            <p class={style["empty"]}>{stepsError.value?.message ?? (known === null && own?.splits.length !== 0 ? "" : "No step yet.")}</p>
          ) : known.steps.length === 1 && overlays.value.length === 0 ? null : (
            <CurveChart
              what="mean reward"
              curve={curve}
              bounds={boundsOf(split?.reward_min, split?.reward_max)}
              colour={own === null ? 1 : colourOf(own.id)}
              others={overlays.value.map(({ item, steps: theirs }) => ({ curve: theirs === null ? null : kept(theirs), colour: colourOf(item.id) }))}
              current={field.step.value}
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
        {shownCharts.value.map((name, i, all) => (
          <MetricChart
            key={name}
            name={name}
            remove={() => chooseCharts(all.filter((one) => one !== name))}
            raise={i === 0 ? null : () => chooseCharts(all.toSpliced(i, 1).toSpliced(i - 1, 0, name))}
          />
        ))}
        <More />
      </div>
    </>
  );
}

/** Offers what else there is by step. */
function More() {
  const shown = shownCharts.value;
  const id = run.value?.id ?? null;
  // A run may have very many numbers, and those of the trainer are read from its files: only once somebody comes near.
  const [isNear, setNear] = useState(false);
  const known = useLoaded(isNear ? id : null, () => getMetricNames(id ?? ""));
  const logged = (known.value?.names ?? []).map((name) => OF_TRAINER + name).filter((name) => !shown.includes(name));
  const offered = (isNear ? columns.value : []).filter(({ name, kind }) => kind === "number" && !OWN.has(name) && !shown.includes(name));
  if (id === null || shown.length >= MAX_CHARTS) return null;
  return (
    <p class={style["more"]}>
      <select class="field" aria-label="Add a chart" value="" onPointerEnter={() => setNear(true)} onFocus={() => setNear(true)} onChange={(event) => chooseCharts([...shown, event.currentTarget.value])}>
        <option value="">Add a chart …</option>
        <optgroup label="Of the samples">
          {offered.map(({ name }) => (
            <option key={name} value={name}>{harmless(label(name))}</option>
          ))}
        </optgroup>
        {logged.length > 0 && (
          <optgroup label="Logged by the trainer">
            {logged.map((name) => (
              <option key={name} value={name}>{harmless(name.slice(OF_TRAINER.length))}</option>
            ))}
          </optgroup>
        )}
      </select>
      {view.value.charts !== null && <button type="button" class="action" onClick={() => chooseCharts(null)}>The usual charts</button>}
    </p>
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
