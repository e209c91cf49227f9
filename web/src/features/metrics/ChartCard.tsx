/** One curve by step; a press opens the rollouts of the step. */

import { useMemo, useState } from "preact/hooks";
import type { CatalogueEntry, CurveData } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { acrossOf, spanOfTime } from "../../lib/charts/across";
import { chartOfEntry } from "../../lib/charts/catalogue";
import type { Placed } from "../../lib/charts/layout";
import { nearest } from "../../lib/numbers/nearest";
import { count, figure, finite, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { colourOf, nameOf } from "../../state/marks";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { type Bounds, boundsOf, type Curve, CurveChart, kindOf, NO_BOUNDS } from "../charts";
import { ChartMenu } from "./menu/ChartMenu";
import { type ChartTools, ChartTitle } from "./ChartTitle";
import { askedOf, hasBand, isLog, limitsOf, setOption, spanOf, xOf, xTitle, zoomOf, zoomText } from "./choice";
import { pointsOf, wordsOf } from "./points/points";
import type { Drawn } from "./useCurves";
import style from "./Metrics.module.css";

interface Props {
  entry: Placed;
  /** Of the run, then of those drawn over it; undefined until they are loaded. */
  curves: readonly Drawn[] | undefined;
  /** The address of all points, as a file. */
  csv: string;
  /** The catalogue. */
  entries: readonly CatalogueEntry[];
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
  tools: ChartTools;
}

/** The meaning of the numbers, where the title leaves it open. */
const FIGURES: Readonly<Record<string, string>> = { sample: "mean", token: "mean over tokens", eval: "mean score" };

export function ChartCard({ entry, curves, csv, entries, pointed, point, tools }: Props) {
  const session = useSession();
  const [isHere, setHere] = useState(false);
  const asked = askedOf(session, entry.chart);
  const band = hasBand(asked);
  const own = curves?.[0];
  const drawn = own?.curve ?? null;
  const curve = useMemo(() => (drawn === null || band ? drawn : { ...drawn, std: [] }), [drawn, band]);
  const over = session.overlays.runs.value;
  const run = session.run.now.value;
  const hasRollouts = run !== null && run.splits.length > 0;
  const at = placeOf(curve, pointed);
  const step = curve?.steps[at];
  const hasSpread = band && (own?.data.spread ?? null) !== null && (curve?.steps.length ?? 0) > 1;
  const figures = `${FIGURES[entry.kind] ?? entry.unit}${hasSpread ? " ± std" : ""}`;
  const title = harmless(entry.title);
  const which = pointsOf(asked);
  const leftOut = (curves ?? []).reduce((sum, { data }) => sum + data.left_out, 0);
  const withoutX = (curves ?? []).reduce((sum, { data }) => sum + data.without_x, 0);
  const x = own?.x ?? "";
  const across = acrossOf(x);
  const xName = xTitle(x, entries);
  const zoom = x === xOf(asked) ? zoomOf(asked) : null;
  const limits = limitsOf(asked);
  const hasLine = curve !== null && (curve.steps.length > 1 || over.length > 0);
  const others = over.map((one, i) => ({
    curve: curves?.[i + 1]?.curve ?? null,
    colour: colourOf(one.id),
    name: harmless(nameOf(one)),
  }));
  const bounds = which.from_zero ? NO_BOUNDS : boundsIn(session, entry);
  const span = spanOf(asked);
  const notes = [
    leftOut > 0 ? `${count(leftOut, "outlier")} left out` : "",
    withoutX > 0 ? `${count(withoutX, "step")} without ${harmless(xName)} left out` : "",
  ].filter((one) => one !== "");
  const charted =
    run === null || !hasLine
      ? null
      : {
          title,
          note: [
            figures,
            span > 0 ? `EMA over ${count(span, "step")}` : "",
            session.place.field.split.value ?? "",
            ...wordsOf(which),
            ...notes,
          ]
            .filter((one) => one !== "")
            .join(" · "),
          across: xName,
          kind: across,
          zoom,
          limits,
          curve,
          name: harmless(nameOf(run)),
          colour: colourOf(run.id),
          others,
          bounds,
          isLog: isLog(asked),
        };
  return (
    <section class={style["chart"]} aria-label={`${title} by ${harmless(xName).toLowerCase()}`}>
      <h3>
        <ChartTitle title={entry.title} about={explained(entry)} tools={tools} />
        <small class="clip">{pointed === null ? figures : `step ${figure(pointed)}`}</small>
        {step === undefined || !hasRollouts ? (
          <b>{step === undefined ? "" : score(curve?.mean[at], "none")}</b>
        ) : (
          <a
            class={style["value"]}
            href={session.place.href(rolloutsAt(session, entry, step))}
            onClick={session.place.onLink(rolloutsAt(session, entry, step))}
            aria-label={`${score(curve?.mean[at], "none")} at step ${figure(step)}: open its rollouts`}
            title={`Step ${figure(step)}: open its rollouts`}
          >
            {score(curve?.mean[at], "none")}
          </a>
        )}
        <ChartMenu title={title} csv={csv} drawn={charted} entries={entries} chart={entry.chart} alter={tools.alter} />
        <button
          type="button"
          class={`action ${style["tool"]}`}
          aria-label={`Take ${title} away`}
          title="Take away"
          onClick={tools.remove}
        >
          ×
        </button>
      </h3>
      {curves === undefined || run === null ? (
        <p class={style["empty"]}>
          <span class={style["loading"]}>Loading …</span>
        </p>
      ) : curve === null ? (
        <p class={style["empty"]}>{own?.data.error ? harmless(own.data.error) : "No step has this number."}</p>
      ) : !hasLine ? (
        <p class={style["empty"]}>One step so far.</p>
      ) : (
        <div class={style["plot"]} onPointerEnter={() => setHere(true)} onPointerLeave={() => setHere(false)}>
          {isHere && pointed !== null && x !== "" && <p>{acrossWords(pointed, own?.data)}</p>}
          <CurveChart
            what={`${figures === "" ? "" : `${figures} of `}${entry.title}`}
            curve={curve}
            bounds={bounds}
            colour={colourOf(run.id)}
            others={others}
            current={session.place.field.step.value}
            hover={point}
            across={across}
            pointed={pointed}
            zoom={zoom}
            onZoom={(range) => setOption(session, { zoom: range === null ? "" : zoomText(range, x) })}
            limits={limits}
            isLog={isLog(asked)}
            open={(pressed) => hasRollouts && session.place.go(rolloutsAt(session, entry, pressed))}
          />
        </div>
      )}
      {notes.length > 0 && <p class={style["others"]}>{notes.join(" · ")}</p>}
      {over.length > 0 && curves !== undefined && (
        <p class={style["others"]}>
          {over.map((one, i) => {
            const theirs = curves[i + 1]?.curve ?? null;
            return (
              <span key={one.id} title={nameOf(one)}>
                <i style={{ background: `var(--run-${colourOf(one.id)})` }} />
                {score(theirs?.mean[placeOf(theirs, pointed)], "–")}
              </span>
            );
          })}
        </p>
      )}
    </section>
  );
}

/** What stands across at a step. */
function acrossWords(step: number, data: CurveData | undefined): string {
  const x = data?.x?.[data.steps.indexOf(step)];
  const start_s = data?.x_start_s ?? null;
  if (x === undefined) return "";
  return start_s === null ? figure(x) : `${spanOfTime(x)} · ${CLOCK.format((start_s + x) * 1000)}`;
}

/** The time of a step, as clocks here show it. */
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** The place of the pointed step, else of the last value; -1 for none. */
function placeOf(curve: Curve | null, pointed: number | null): number {
  if (curve === null) return -1;
  return pointed === null ? curve.mean.findLastIndex((value) => finite(value) !== null) : curve.steps.indexOf(pointed);
}

/** Its own name and what it is, where the title says less. */
export function explained({ kind, name, title, about, unit }: CatalogueEntry): string {
  const own = name === "" || name === title ? title : `${title} (${kind === "trainer" ? "" : `${kind} `}${name})`;
  return harmless([own, about, unit].filter((one) => one !== "").join(" · "));
}

/** The rollouts of a step, of the split that the curve is about; a trainer may log steps that have none. */
function rolloutsAt(session: Session, entry: CatalogueEntry, step: number): Partial<Place> {
  const { split } = session.place.now.peek();
  if (entry.kind === "eval") return { page: "rollouts", discarded: false, split: entry.source, step };
  const steps = session.steps.reply.peek()?.steps ?? [];
  return { page: "rollouts", discarded: false, split, step: steps[nearest(steps, step)] ?? step };
}

function boundsIn(session: Session, entry: CatalogueEntry): Bounds {
  if (entry.unit.startsWith("share")) return boundsOf(0, 1);
  return boundsOf(...kindOf(entry.kind).bounds(chartOfEntry(entry), session));
}
