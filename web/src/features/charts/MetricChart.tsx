/** A curve by step that the reader chose; for samples the mean over the trained ones, and its spread. */

import { useMemo, useState } from "preact/hooks";
import { getCurve } from "../../api/curves";
import type { CurveData } from "../../api/types.gen";
import { definitionOf, samplesAt } from "../../lib/charts/words/basis";
import { type Chart, isShare, recordOf, SPAN, textOf } from "../../lib/charts/chart";
import { nearest } from "../../lib/numbers/nearest";
import { figure } from "../../lib/numbers/numbers";
import { wordsOfValues } from "../../lib/numbers/percent";
import { harmless } from "../../lib/text/invisible";
import { colourOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Text } from "../../ui/text/Text";
import { CurveChart } from "./CurveChart";
import { boundsOf, curveOf } from "./curvesOf";
import { kindOf } from "./kinds";
import style from "./Charts.module.css";

interface Props {
  chart: Chart;
  /** Removes the chart, or moves it up; null for the first. */
  remove: () => void;
  raise: (() => void) | null;
}

const NONE: readonly CurveData[] = [];

export function MetricChart({ chart, remove, raise }: Props) {
  const session = useSession();
  const kind = kindOf(chart.kind);
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const step = session.place.field.step.value;
  const over = session.overlays.runs.value;
  const [pointed, point] = useState<number | null>(null);
  const ids = [run?.id ?? "", ...over.map(({ id }) => id)];
  // Logged metrics reload with each step, not with each sample.
  const isByStep = chart.kind === "trainer" && session.steps.last.value !== null;
  const versions = isByStep ? [session.steps.last.value] : [run?.version ?? "", ...over.map(({ version }) => version)];
  const what = JSON.stringify([ids, split, textOf(chart)]);
  const loaded = useLoaded(
    run === null || (split === null && kind.isOfSplit) ? null : `${what} ${versions.join(" ")}`,
    () => getCurve(ids, recordOf(chart, kind.isOfSplit ? (split ?? "") : "")),
    what,
  );
  const data = loaded.value ?? NONE;
  const curves = useMemo(() => data.map((one) => (one.error === "" ? curveOf(one) : null)), [data]);
  const curve = curves[0] ?? null;
  const others = over.map(({ id }, i) => ({ curve: curves[i + 1] ?? null, colour: colourOf(id) }));
  const at = curve === null || (pointed ?? step) === null ? -1 : nearest(curve.steps, pointed ?? step ?? NaN);
  const own = curve?.steps[at];
  const isElsewhere = own !== undefined && own !== step;
  const words = kind.words(chart, session);
  const short = kind.short(chart, session);
  const span = chart.options?.smooth ?? SPAN;
  const basis = [samplesAt(data[0], at), definitionOf(chart)].filter((one) => one !== "").join(" · ");
  const isSpread = (data[0]?.spread ?? null) !== null;
  return (
    <section class={style["chart"]} aria-label={`${words} by step`}>
      <h3>
        <span class="clip" title={harmless(words)}>
          <Text text={short} />
        </span>{" "}
        <small>
          {kind.figure}
          {isSpread ? (curve?.steps.length === 1 ? ", one step" : " ± std") : ""}
          {span === SPAN ? "" : span === 0 ? " · not smoothed" : ` · EMA ${figure(span)}`}
          {isElsewhere ? ` · step ${figure(own)}` : ""}
        </small>
        <b>{at < 0 ? "" : wordsOfValues(isShare(chart))(curve?.mean[at], "none")}</b>
        <span class={style["tools"]}>
          {raise !== null && (
            <button type="button" class="action" aria-label={`Move ${words} up`} title="Move up" onClick={raise}>
              ↑
            </button>
          )}
          <button type="button" class="action" aria-label={`Take ${words} away`} title="Take away" onClick={remove}>
            ×
          </button>
        </span>
      </h3>
      {loaded.error !== null ? (
        <p class={style["empty"]}>{loaded.error.message}</p>
      ) : data[0] !== undefined && data[0].error !== "" ? (
        <p class={style["empty"]}>{kind.none}</p>
      ) : curve === null || run === null ? (
        <p class={style["empty"]} />
      ) : curve.steps.length === 0 ? (
        <p class={style["empty"]}>No step has this number.</p>
      ) : curve.steps.length === 1 && over.length === 0 ? null : (
        <CurveChart
          what={kind.figure === "mean" ? `mean ${words}` : words}
          curve={curve}
          bounds={boundsOf(...kind.bounds(chart, session), isShare(chart))}
          colour={colourOf(run.id)}
          others={others}
          current={step}
          hover={point}
          isOfStep
        />
      )}
      {basis !== "" && curve !== null && <p class={style["note"]}>{basis}</p>}
    </section>
  );
}
