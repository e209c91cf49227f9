/** The curves of the run beside its samples. */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import { MAX_CHARTS } from "../../lib/address/address";
import { figure, score } from "../../lib/numbers/numbers";
import { chartOfEntry, isProgress, sectionsOf } from "../../lib/charts/catalogue";
import { chartOf, isSame, SPAN, spanFor, textOf, USUAL_SPAN } from "../../lib/charts/chart";
import { getCatalogue } from "../../api/metrics";
import type { CatalogueEntry, RunItem, WireNumber } from "../../api/types.gen";
import { harmless } from "../../lib/text/invisible";
import { colourOf, nameOf } from "../../state/marks";
import { choose, ownCharts } from "../../state/browser/settings";
import { boundsOf, CurveChart, kindOf, rewardOf } from "../charts";
import { StepHistogram } from "../distribution";
import { TakeOut } from "../runs";
import { PaneChart } from "./PaneChart";
import { useFollowed } from "../../ui/hooks/useFollowed";
import style from "./Charts.module.css";

/** `isAside`: in a separate pane that folds. */
export function Charts({ isAside = true }: { isAside?: boolean }) {
  const session = useSession();
  const reply = session.steps.reply.value;
  const run = session.run.now.value;
  const [pointed, point] = useState<number | null>(null);
  const curve = reply === null ? null : rewardOf(reply);
  const hovered = pointed === null ? -1 : (reply?.steps.indexOf(pointed) ?? -1);
  const at =
    hovered >= 0 ? hovered : pointed !== null || session.steps.index.value < 0 ? null : session.steps.index.value;
  const split = run?.splits.find(({ name }) => name === session.place.field.split.value);
  const step = pointed ?? session.place.field.step.value;
  const excluded = at === null ? 0 : (reply?.reward_excluded[at] ?? 0);
  return (
    <>
      <div class={style["bar"]}>
        <h2>Charts</h2>
        <span title="Thin line: value of each step. Number: value at the current step. Click to go to a step">
          {spanFor(USUAL_SPAN, reply?.steps.length ?? 0) > 0 && `thick line: EMA ${SPAN}`}
        </span>
        {isAside && (
          <button
            type="button"
            class="action"
            aria-label="Hide the charts"
            title="Hide the charts"
            onClick={() => choose({ rightOpen: false })}
          >
            ›
          </button>
        )}
      </div>
      <div class={style["list"]} data-scroll="charts">
        <section class={style["chart"]} aria-label="Reward by step">
          <h3>
            Reward{" "}
            <small>
              {reply?.steps.length === 1 ? "mean, one step" : "mean ± std"}
              {pointed === null ? "" : ` · step ${figure(pointed)}`}
            </small>
            <b>{at === null ? "" : score(reply?.reward_mean[at], "none")}</b>
          </h3>
          {reply === null || curve === null || reply.steps.length === 0 ? (
            <p class={style["empty"]}>
              {session.steps.error.value?.message ?? (reply === null && run?.splits.length !== 0 ? "" : "No step yet.")}
            </p>
          ) : reply.steps.length === 1 && session.overlays.all.value.length === 0 ? (
            <StepHistogram name="reward" title="reward" />
          ) : (
            <CurveChart
              what="mean reward"
              curve={curve}
              bounds={boundsOf(split?.reward_min, split?.reward_max)}
              colour={run === null ? 1 : colourOf(run.id)}
              others={session.overlays.all.value.map(({ item, steps: theirs }) => ({
                curve: theirs === null ? null : rewardOf(theirs),
                colour: colourOf(item.id),
              }))}
              current={session.place.field.step.value}
              hover={point}
              isOfStep
            />
          )}
          {session.overlays.all.value.length > 0 && (
            <ul class={style["legend"]} aria-label="Runs in the chart">
              {run !== null && <Line item={run} value={at === null ? null : (reply?.reward_mean[at] ?? null)} />}
              {session.overlays.all.value.map(({ item, steps: theirs }) => (
                <Line
                  key={item.id}
                  item={item}
                  value={theirs?.reward_mean[theirs.steps.indexOf(step ?? NaN)] ?? null}
                  none={theirs === null ? "no such split" : "–"}
                  isOver
                />
              ))}
            </ul>
          )}
          {excluded > 0 && <p class={style["note"]}>{figure(excluded)} without a finite reward, not in the mean</p>}
        </section>
        {session.charts.shown.value.map((chart, i, all) => (
          <PaneChart
            key={textOf(chart)}
            chart={chart}
            remove={() => session.view.chooseCharts(all.filter((one) => one !== chart))}
            raise={i === 0 ? null : () => session.view.chooseCharts(all.toSpliced(i, 1).toSpliced(i - 1, 0, chart))}
          />
        ))}
        <More />
      </div>
    </>
  );
}

/** Offers further charts. */
function More() {
  const session = useSession();
  const shown = session.charts.shown.value;
  const id = session.run.now.value?.id ?? null;
  const split = session.place.field.split.value ?? "";
  // A run may have very many metrics, and those of the trainer are read from its files: the menu loads on demand.
  const [isNear, setNear] = useState(false);
  const version = session.run.now.value?.version ?? "";
  const catalogue = useFollowed(isNear && id !== null ? JSON.stringify([id, split]) : null, version, () =>
    getCatalogue(id ?? "", split),
  );
  const isOffered = (entry: CatalogueEntry): boolean =>
    !isProgress(entry.kind) &&
    !(entry.kind === "sample" && entry.name === "reward") && // the first chart
    !shown.some((one) => isSame(one, chartOfEntry(entry)));
  const sections = sectionsOf((catalogue.value?.entries ?? []).filter(isOffered));
  const add = (text: string): void => {
    const chart = chartOf(text);
    if (chart !== null) session.view.chooseCharts([...shown, chart]);
  };
  if (id === null || shown.length >= MAX_CHARTS) return null;
  return (
    <p class={style["more"]}>
      <select
        class="field"
        aria-label="Add a chart"
        value=""
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        onChange={(event) => add(event.currentTarget.value)}
      >
        <option value="">Add a chart …</option>
        {sections.map(({ name, entries }) => (
          <optgroup key={name} label={harmless(name)}>
            {entries.map(chartOfEntry).map((chart) => (
              <option key={textOf(chart)} value={textOf(chart)}>
                {harmless(kindOf(chart.kind).words(chart, session))}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {ownCharts.value !== null && (
        <button type="button" class="action" onClick={() => session.view.chooseCharts(null)}>
          The usual charts
        </button>
      )}
    </p>
  );
}

/** A run in the legend, with its mean at the step; overlaid runs can be removed. */
function Line({
  item,
  value,
  none = "–",
  isOver = false,
}: {
  item: RunItem;
  value: WireNumber;
  none?: string;
  isOver?: boolean;
}) {
  const name = nameOf(item);
  return (
    <li>
      <i style={{ background: `var(--run-${colourOf(item.id)})` }} />
      <span class="clip" title={name}>
        {name}
      </span>
      <b>{score(value, none)}</b>
      {isOver && <TakeOut item={item} from=" of the chart" />}
    </li>
  );
}
