/**
 * A chart beside the rollouts, drawn as on the page of metrics, with its filter, distribution and settings. For samples
 * it is the mean over the trained ones, and its spread.
 */

import { useMemo, useState } from "preact/hooks";
import { getCurve } from "../../api/curves";
import type { CurveData, DistributionReply } from "../../api/types.gen";
import { acrossOf } from "../../lib/charts/across";
import { type Chart, chartOf, isShare, nameOf, plain, SPAN } from "../../lib/charts/chart";
import type { Placed } from "../../lib/charts/layout";
import { definitionOf, samplesAt } from "../../lib/charts/words/basis";
import { nearest } from "../../lib/numbers/nearest";
import { count, figure } from "../../lib/numbers/numbers";
import { wordsOfValues } from "../../lib/numbers/percent";
import { harmless } from "../../lib/text/invisible";
import { colourOf } from "../../state/marks";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Text } from "../../ui/text/Text";
import { StepHistogram } from "../distribution";
import { banded, boundsOf, CurveChart, curveOf, kindOf, NO_BOUNDS } from "../charts";
import {
  askedOf,
  bandOf,
  chartRecord,
  dashesOf,
  DistributionChart,
  figureOf,
  isLog,
  limitsOf,
  MAP,
  Only,
  pointsOf,
  spanOf,
  whereOf,
  wordsOf,
  wordsOfBand,
  wordsOfFigure,
  xOf,
} from "../metrics";
import style from "./Charts.module.css";

interface Props {
  chart: Chart;
  /** Removes the chart, or moves it up; null for the first. */
  remove: () => void;
  raise: (() => void) | null;
}

const NONE: readonly (readonly CurveData[])[] = [];

export function PaneChart({ chart, remove, raise }: Props) {
  const session = useSession();
  const run = session.run.now.value;
  const step = session.place.field.step.value;
  const over = session.overlays.runs.value;
  const [pointed, point] = useState<number | null>(null);
  const [leftOut, leaveOut] = useState(0);
  const kind = kindOf(chart.kind);
  const asked = askedOf(session, chart);
  const drawing = figureOf(asked, chart.kind);
  const isMap = drawing === MAP;
  const band = bandOf(asked, false);
  const x = xOf(asked);
  const data = useData(chart, isMap);
  const curves = useMemo(
    () => data.curves.map((of) => of.map((one) => (one.error === "" ? curveOf(one) : null))),
    [data.curves],
  );
  const whole = curves[0]?.[0] ?? null;
  const curve = useMemo(
    () => (whole === null ? null : banded(whole, band.scale, band.between)),
    [whole, band.scale, band.between],
  );
  const dashes = useMemo(() => dashesOf(curves.map(([first]) => first ?? null)), [curves]);
  const runs = run === null ? [] : [run, ...over];
  const others = runs
    .flatMap(({ id }, i) =>
      (data.curves.length === 0 ? [chart] : data.curves).map((_, series) => ({
        curve: curves[series]?.[i] ?? null,
        colour: colourOf(id),
        dash: dashes[series] ?? [],
      })),
    )
    .slice(1);
  const own = data.curves[0]?.[0];
  const at = curve === null || (pointed ?? step) === null ? -1 : nearest(curve.steps, pointed ?? step ?? NaN);
  const here = curve?.steps[at];
  const isElsewhere = here !== undefined && here !== step;
  const words = chart.title || kind.words(chart, session);
  const short = chart.title || kind.short(chart, session);
  const which = pointsOf(asked);
  const span = spanOf(asked, chart.options?.smooth);
  const shown = wordsOfFigure(drawing, chart.kind) || kind.figure;
  const notes = [
    ...chart.more.map((text) => `and ${nameOf(chartOf(text) ?? chart)}`),
    isMap ? "" : samplesAt(own, at),
    isMap ? "" : definitionOf(chart, { hasDiscarded: session.run.hasDiscarded.value }),
    ...wordsOf(isMap ? { ...which, from_zero: false } : which),
    leftOut + (own?.left_out ?? 0) > 0 ? `${count(leftOut + (own?.left_out ?? 0), "outlier")} left out` : "",
    x === "" || isMap ? "" : `by ${nameOf(chartOf(x) ?? chart)}`,
  ].filter((one) => one !== "");
  const isSpread = (own?.spread ?? own?.low ?? null) !== null && band.scale > 0;
  const isShifted = which.from_zero || drawing === "std";
  const bounds = isShifted ? NO_BOUNDS : boundsOf(...kind.bounds(chart, session), isShare(chart));
  const average = span === 0 ? " · not smoothed" : span === SPAN || span < 0 ? "" : ` · EMA ${figure(span)}`;
  return (
    <section class={style["chart"]} aria-label={`${words} by step`}>
      <h3>
        <span class="clip" title={harmless(words)}>
          <Text text={short} />
        </span>{" "}
        <small>
          {shown}
          {isSpread ? (curve?.steps.length === 1 ? ", one step" : ` ${wordsOfBand(band)}`) : ""}
          {isMap ? "" : average}
          {isElsewhere && !isMap ? ` · step ${figure(here)}` : ""}
        </small>
        <b>{at < 0 || isMap ? "" : wordsOfValues(isShare(chart), which.from_zero)(curve?.mean[at], "none")}</b>
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
      <Only where={whereOf(asked)} split={asked["split"] ?? ""} />
      {isMap ? (
        <DistributionChart
          entry={entryOf(chart, words, session)}
          pointed={pointed}
          point={point}
          onDrawn={(_: DistributionReply | null, out) => leaveOut(out)}
        />
      ) : data.error !== null ? (
        <p class={style["empty"]}>{data.error.message}</p>
      ) : own !== undefined && own.error !== "" ? (
        <p class={style["empty"]} title={harmless(own.error)}>
          {kind.none}
        </p>
      ) : curve === null || run === null ? (
        <p class={style["empty"]} />
      ) : curve.steps.length === 0 ? (
        <p class={style["empty"]}>No step has this number.</p>
      ) : curve.steps.length === 1 && others.length === 0 ? (
        chart.kind === "sample" && <StepHistogram name={chart.name} title={words} />
      ) : (
        <CurveChart
          what={shown === "mean" ? `mean ${words}` : words}
          curve={curve}
          bounds={bounds}
          colour={colourOf(run.id)}
          others={others}
          current={step}
          hover={point}
          across={acrossOf(x)}
          limits={limitsOf(asked)}
          isLog={isLog(asked)}
          isOfStep
        />
      )}
      {notes.length > 0 && (curve !== null || isMap) && <p class={style["note"]}>{harmless(notes.join(" · "))}</p>}
    </section>
  );
}

/** For each curve of the chart, the curves of the runs; a distribution needs none. */
function useData(chart: Chart, isMap: boolean) {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const over = session.overlays.runs.value;
  const ids = [run?.id ?? "", ...over.map(({ id }) => id)];
  // Logged metrics reload with each step, not with each sample.
  const isByStep = chart.kind === "trainer" && session.steps.last.value !== null;
  const versions = isByStep ? [session.steps.last.value] : [run?.version ?? "", ...over.map(({ version }) => version)];
  const all = [chart, ...chart.more.flatMap((text) => chartOf(text) ?? [])];
  const records = all.map((of) => chartRecord(session, chart, plain(of), false, false));
  const what = JSON.stringify([ids, records]);
  const isWaiting = run === null || isMap || (split === null && kindOf(chart.kind).isOfSplit);
  const loaded = useLoaded(
    isWaiting ? null : `${what} ${versions.join(" ")}`,
    async () => Promise.all(records.map(async (one) => getCurve(ids, one))),
    what,
  );
  return { curves: loaded.value ?? NONE, error: loaded.error };
}

/** The chart as an entry of the catalogue, made without a request. */
const entryOf = (chart: Chart, title: string, session: Session): Placed => {
  const { kind, name, source, stat, section, options } = chart;
  const [low, high] = kindOf(kind).bounds(chart, session);
  const { k = 0, reason = "" } = options ?? {};
  const own = { kind, name, source, stat, k, reason, title, section, unit: "", about: "", low, high };
  return { ...own, chart, curve: title, series: [] };
};
