/** The curves of the run beside its samples. */

import { useMemo, useState } from "preact/hooks";
import { getCatalogue } from "../../api/metrics";
import type { RunItem, WireNumber } from "../../api/types.gen";
import { isProgress } from "../../lib/charts/catalogue";
import { LEAST_SPAN, spanFor, USUAL_SPAN } from "../../lib/charts/chart";
import { figure, finite, score } from "../../lib/numbers/numbers";
import { colourOf, nameOf } from "../../state/marks";
import { choose, ownCharts } from "../../state/browser/settings";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Loading } from "../../ui/layout/EmptyState";
import { Popover } from "../../ui/overlay/Popover";
import { averageOf, boundsOf, type Curve, CurveChart, rewardOf } from "../charts";
import { StepHistogram } from "../distribution";
import { Catalogue, type Layout, pageAsked, setOption, spanOf } from "../metrics";
import { TakeOut } from "../runs";
import { PaneCharts, usePaneLayout } from "./PaneCharts";
import style from "./Charts.module.css";

/** The curve with an average over a span; the usual one is there already. */
const spanned = (curve: Curve, span: number): Curve =>
  span === USUAL_SPAN ? curve : { ...curve, smooth: averageOf(curve.steps, curve.mean, span) };

/** `isAside`: in a separate pane that folds. */
export function Charts({ isAside = true }: { isAside?: boolean }) {
  const session = useSession();
  const reply = session.steps.reply.value;
  const run = session.run.now.value;
  const [pointed, point] = useState<number | null>(null);
  // A run may have very many metrics, and those of the trainer are read from its files: the catalogue loads on demand.
  const [isNear, setNear] = useState(false);
  const catalogue = useFollowed(
    isNear && run !== null ? JSON.stringify([run.id, session.place.field.split.value]) : null,
    run?.version ?? "",
    () => getCatalogue(run?.id ?? "", session.place.field.split.value ?? ""),
  );
  const layout = usePaneLayout(
    useMemo(() => (catalogue.value?.entries ?? []).filter(({ kind }) => !isProgress(kind)), [catalogue.value]),
  );
  const span = spanOf(pageAsked(session));
  const curve = useMemo(() => (reply === null ? null : spanned(rewardOf(reply), span)), [reply, span]);
  const overlays = session.overlays.all.value;
  const others = useMemo(
    () => overlays.map(({ steps }) => (steps === null ? null : spanned(rewardOf(steps), span))),
    [overlays, span],
  );
  const current = session.place.lateStep.value;
  const step = pointed ?? current;
  const index = step === null ? -1 : (reply?.steps.indexOf(step) ?? -1);
  const at = index < 0 ? null : index;
  const split = run?.splits.find(({ name }) => name === session.place.field.split.value);
  // Evaluations may be graded by metrics alone: then their charts are enough.
  const hasReward =
    layout.placed.length === 0 || reply === null || reply.reward_mean.some((mean) => finite(mean) !== null);
  const excluded = at === null ? 0 : (reply?.reward_excluded[at] ?? 0);
  if (!session.sample.isFirstDone.value) return <div class={style["pane"]} />;
  return (
    <div class={style["pane"]} onPointerEnter={() => setNear(true)} onFocusCapture={() => setNear(true)}>
      <div class={style["bar"]}>
        <h2>Charts</h2>
        <Average steps={reply?.steps.length ?? 0} />
        <Choose layout={layout} leftOut={catalogue.value?.left_out ?? 0} isLoaded={catalogue.value !== null} />
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
        {hasReward && (
          <section class={style["reward"]} aria-label="Reward by step">
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
                {session.steps.error.value?.message ??
                  (reply === null && run?.splits.length !== 0 ? "" : "No step yet.")}
              </p>
            ) : reply.steps.length === 1 && overlays.length === 0 ? (
              <StepHistogram name="reward" title="reward" />
            ) : (
              <CurveChart
                what="mean reward"
                curve={curve}
                bounds={boundsOf(split?.reward_min, split?.reward_max)}
                colour={run === null ? 1 : colourOf(run.id)}
                others={overlays.map(({ item }, i) => ({ curve: others[i] ?? null, colour: colourOf(item.id) }))}
                current={current}
                hover={point}
                isOfStep
              />
            )}
            {overlays.length > 0 && (
              <ul class={style["legend"]} aria-label="Runs in the chart">
                {run !== null && <Line item={run} value={at === null ? null : (reply?.reward_mean[at] ?? null)} />}
                {overlays.map(({ item, steps: theirs }) => (
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
        )}
        <PaneCharts layout={layout} />
      </div>
    </div>
  );
}

/** Turns the average on and off, for all charts of the pane. */
function Average({ steps }: { steps: number }) {
  const session = useSession();
  const span = spanFor(spanOf(pageAsked(session)), steps);
  if (steps < 2) return null;
  const ema = span > 0 ? "0" : spanFor(USUAL_SPAN, steps) > 0 ? "" : String(LEAST_SPAN);
  return (
    <button
      type="button"
      class="action"
      aria-pressed={span > 0}
      title="The moving average, drawn as a thick line. The thin line has the value of each step"
      onClick={() => setOption(session, { ema })}
    >
      {span > 0 ? `EMA ${span}` : "EMA off"}
    </button>
  );
}

/** Offers all charts of the run. */
function Choose({ layout, leftOut, isLoaded }: { layout: Layout; leftOut: number; isLoaded: boolean }) {
  const session = useSession();
  return (
    <Popover label="Choose charts" button="Choose ▾" buttonClass="action" align="right">
      {(close) => (
        <div class={style["choose"]}>
          {isLoaded ? <Catalogue entries={layout.entries} layout={layout} leftOut={leftOut} /> : <Loading />}
          {ownCharts.value !== null && (
            <button
              type="button"
              class="action"
              onClick={() => {
                session.view.chooseCharts(null);
                close();
              }}
            >
              Restore default charts
            </button>
          )}
        </div>
      )}
    </Popover>
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
      {isOver && <TakeOut item={item} from=" from the chart" />}
    </li>
  );
}
