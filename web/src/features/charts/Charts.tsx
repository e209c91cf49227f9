/** The curves of the run beside what it wrote. */

import { useState } from "preact/hooks";
import { figure, score } from "../../lib/numbers";
import { place } from "../../state/place";
import { choose } from "../../state/settings";
import { stepIndex, steps, stepsError } from "../../state/steps";
import { RewardChart } from "./RewardChart";
import style from "./Charts.module.css";

export const SPAN = 10;

export function Charts() {
  const known = steps.value;
  const [hovered, hover] = useState<number | null>(null);
  const at = hovered ?? (stepIndex.value < 0 ? null : stepIndex.value);
  const excluded = at === null ? 0 : (known?.reward_excluded[at] ?? 0);
  return (
    <>
      <div class={style["bar"]}>
        <h2>Charts</h2>
        <span>EMA {SPAN} · click a point to go there</span>
        <button type="button" class="action" aria-label="Fold the charts away" title="Fold the charts away" onClick={() => choose({ rightOpen: false })}>
          ›
        </button>
      </div>
      <section class={style["chart"]} aria-label="Reward by step">
        <h3>
          Reward <small>mean ± std{hovered !== null && known !== null ? ` · step ${figure(known.steps[hovered])}` : ""}</small>
          <b>{at === null ? "" : score(known?.reward_mean[at], "none")}</b>
        </h3>
        {known === null || known.steps.length === 0 ? (
          <p class={style["empty"]}>{stepsError.value?.message ?? (known === null ? "" : "No step yet.")}</p>
        ) : (
          <RewardChart steps={known} current={place.value.step} hover={hover} />
        )}
        {excluded > 0 && <p class={style["note"]}>{figure(excluded)} without a finite reward, left out of the mean</p>}
      </section>
    </>
  );
}
