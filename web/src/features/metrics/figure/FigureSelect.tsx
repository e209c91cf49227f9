/** Chooses the statistic of samples or tokens that a chart draws, or their distribution. */

import { figureOf, figuresOf } from "./figure";
import { askedOf, type Change } from "../choice";
import type { Chart } from "../../../lib/charts/chart";
import { useSession } from "../../../state/useSession";
import style from "../Metrics.module.css";

export function FigureSelect({ chart, alter }: { chart: Chart; alter: Change }) {
  const figures = figuresOf(chart.kind);
  const now = figureOf(askedOf(useSession(), chart), chart.kind) || "mean";
  if (figures.length === 0) return null;
  return (
    <div class={style["x"]}>
      draw
      <select
        class="field"
        aria-label="Statistic of each step"
        value={now}
        onChange={({ currentTarget }) => alter({ figure: currentTarget.value === "mean" ? "" : currentTarget.value })}
      >
        {figures.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}
