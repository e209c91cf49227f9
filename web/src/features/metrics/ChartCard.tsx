/** One curve by step; a press opens the rollouts of the step. */

import { useMemo, useState } from "preact/hooks";
import type { CatalogueEntry, CurveData, CurveGroup } from "../../api/types.gen";
import { acrossOf } from "../../lib/charts/across";
import { chartOfEntry } from "../../lib/charts/catalogue";
import type { Placed } from "../../lib/charts/layout";
import { count, figure, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { banded, type Bounds, boundsOf, CurveChart, type Frame, kindOf, type Limits, NO_BOUNDS } from "../charts";
import { acrossWords } from "./acrossWords";
import { bandOf, wordsOfBand } from "./band/band";
import type { ChartTools } from "./ChartTitle";
import {
  askedOf,
  groupOf,
  hasMarks,
  isLog,
  limitsOf,
  setOption,
  spanOf,
  xOf,
  xTitle,
  zoomOf,
  zoomText,
} from "./choice";
import { DistributionChart } from "./figure/DistributionChart";
import { figureOf, MAP, wordsOfFigure } from "./figure/figure";
import { splitOf, whereOf } from "./filter/filter";
import { sourcesOf } from "./groups/sources";
import { Values } from "./groups/Values";
import { type Landmark } from "./landmarks/landmarks";
import { Landmarks } from "./landmarks/Landmarks";
import { ChartHead } from "./parts/ChartHead";
import { Legend } from "./parts/Legend";
import { dashesOf } from "./parts/dashes";
import { drawnOf, placeOf, reachOf, type Row, rowsOf, valueOf, withBands } from "./parts/lines";
import { rolloutsAt } from "./parts/rollouts";
import { pointsOf, wordsOf } from "./points/points";
import type { Drawn } from "./useCurves";
import style from "./Metrics.module.css";

interface Props {
  entry: Placed;
  /** For each curve of the chart that of the run, then those drawn over it; undefined until they are loaded. */
  curves: readonly (readonly Drawn[])[] | undefined;
  /** True if they could not be loaded; the page says why. */
  isMissing: boolean;
  /** The groups that the curves are of; null where each is of a run. */
  groups: readonly CurveGroup[] | null;
  /** The address of all points, as a file. */
  csv: string;
  /** The catalogue. */
  entries: readonly CatalogueEntry[];
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
  /** Its checkpoints, resumes and alarms. */
  landmarks: readonly Landmark[];
  tools: ChartTools;
}

/** The meaning of the numbers, where the title leaves it open. */
const FIGURES: Readonly<Record<string, string>> = { sample: "mean", token: "mean over tokens", eval: "mean score" };

/** The same, with what a person chose to draw. */
function meaning({ kind, name, title, curve, unit }: Placed, drawing: string): string {
  const chosen = wordsOfFigure(drawing, kind);
  const isRenamed = kind === "trainer" && title !== curve && title.toLowerCase() !== name.toLowerCase();
  if (isRenamed) return harmless(name); // the framework's own name
  return chosen === "" ? (FIGURES[kind] ?? unit) : `${chosen}${kind === "token" ? " over tokens" : ""}`;
}

export function ChartCard({ entry, curves, isMissing, groups, csv, entries, pointed, point, landmarks, tools }: Props) {
  const session = useSession();
  const [isHere, setHere] = useState(false);
  const [frame, setFrame] = useState<Frame | null>(null);
  const asked = askedOf(session, entry.chart);
  const band = bandOf(asked, groups !== null);
  const { scale, between } = band;
  const [hidden, hide] = useState<ReadonlySet<string>>(new Set());
  const own = curves?.[0]?.[0];
  const over = session.overlays.runs.value;
  const run = session.run.now.value;
  const runs = run === null ? [] : [run, ...over];
  const isGrouped = groups !== null;
  const dashes = useMemo(() => dashesOf((curves ?? []).map(([first]) => first?.curve ?? null)), [curves]);
  const rows = rowsOf(entry, curves, sourcesOf(runs, groups, groupOf(asked)), dashes);
  const isMany = rows.length > 1;
  const drawn = useMemo(
    () => drawnOf(rows, hidden),
    // Each time the rows are other objects, of the same curves.
    // oxlint-disable-next-line react/exhaustive-deps
    [curves, hidden, JSON.stringify(rows.map(({ lines }) => lines.map(({ name, colour }) => [name, colour])))],
  );
  const whole = drawn?.curve ?? null;
  const curve = useMemo(() => (whole === null ? null : banded(whole, scale, between)), [whole, scale, between]);
  const others = useMemo(
    () => (isGrouped ? withBands(drawn?.others ?? [], scale, between) : (drawn?.others ?? [])),
    [drawn, isGrouped, scale, between],
  );
  const hasRollouts = run !== null && run.splits.length > 0;
  const at = placeOf(own?.curve ?? null, pointed);
  const drawing = figureOf(asked, entry.kind);
  const step = isGrouped || isMany || drawing === MAP ? undefined : own?.curve?.steps[at];
  const value = score(valueOf(own?.curve ?? null, pointed), "none");
  const average = score(own?.curve?.smooth[at], "none");
  const edges = (band.between === "" ? own?.data.spread : own?.data.low) ?? null;
  const hasBand = band.scale > 0 && drawing !== MAP && edges !== null && (curve?.steps.length ?? 0) > 1;
  const around = `${band.between === "" ? " " : ", "}${wordsOfBand(band)}`;
  const chosen = isGrouped ? [wordsOfFigure(drawing, entry.kind), "mean of runs"] : [meaning(entry, drawing)];
  const figures = `${chosen.filter((one) => one !== "").join(", ")}${hasBand ? around : ""}`;
  const title = harmless(entry.title);
  const which = pointsOf(asked);
  const leftOut = sumOf(curves, ({ left_out }) => left_out);
  const withoutX = sumOf(curves, ({ without_x }) => without_x);
  const x = own?.x ?? "";
  const across = acrossOf(x);
  const xName = xTitle(x, entries);
  const zoom = x === xOf(asked) ? zoomOf(asked) : null;
  const reach = useMemo(() => reachOf(curves), [curves]);
  const limits = limitsOf(asked);
  const hasLine = over.length > 0 ? curve !== null : rows.some(({ lines }) => (lines[0]?.curve?.steps.length ?? 0) > 1);
  const bounds = which.from_zero || isMany || drawing === "std" ? NO_BOUNDS : boundsIn(session, entry);
  const span = spanOf(asked);
  const notes = [
    Object.keys(entry.chart.look).some((name) => !OF_AXES.has(name)) ? "own settings" : "",
    leftOut > 0 ? `${count(leftOut, "outlier")} left out` : "",
    ...errorsOf(rows, curves),
    withoutX > 0 ? `${count(withoutX, "step")} without ${harmless(xName)} left out` : "",
  ].filter((one) => one !== "");
  const charted =
    run === null || curve === null || !hasLine || drawing === MAP
      ? null
      : {
          title,
          note: [
            figures,
            span > 0 ? `EMA over ${count(span, "step")}` : "",
            splitOf(asked, session.place.field.split.value ?? ""),
            whereOf(asked),
            ...wordsOf(which),
            ...notes,
          ]
            .filter((one) => one !== "")
            .join(" · "),
          across: xName,
          kind: across,
          zoom: zoom ?? reach,
          limits: axisOf(frame) ?? limits,
          curve,
          name: rows[0]?.lines[0]?.name ?? "",
          colour: rows[0]?.colour ?? 1,
          others,
          bounds,
          isLog: isLog(asked),
        };
  return (
    <section class={style["chart"]} aria-label={`${title} by ${harmless(xName).toLowerCase()}`}>
      <ChartHead
        entry={entry}
        entries={entries}
        figures={figures}
        pointed={pointed}
        step={step}
        value={value}
        average={average === value ? "" : `EMA ${figure(span)}: ${average}`}
        csv={csv}
        charted={charted}
        hasRollouts={hasRollouts}
        tools={tools}
      />
      {drawing === MAP ? (
        <DistributionChart entry={entry} pointed={pointed} point={point} />
      ) : curves === undefined || run === null ? (
        <p class={style["empty"]}>{isMissing ? "Not loaded." : <span class={style["loading"]}>Loading …</span>}</p>
      ) : curve === null ? (
        <p class={style["empty"]}>{own?.data.error ? harmless(own.data.error) : nothing(whereOf(asked))}</p>
      ) : !hasLine ? (
        <p class={style["empty"]}>One step so far.</p>
      ) : (
        <div class={style["plot"]} onPointerEnter={() => setHere(true)} onPointerLeave={() => setHere(false)}>
          {isHere && pointed !== null && x !== "" && <p>{acrossWords(pointed, own?.data)}</p>}
          <CurveChart
            what={`${figures === "" ? "" : `${figures} of `}${entry.title}`}
            curve={curve}
            bounds={bounds}
            colour={rows[0]?.colour ?? 1}
            others={others}
            current={session.place.field.step.value}
            hover={point}
            across={across}
            pointed={pointed}
            zoom={zoom}
            reach={reach}
            onZoom={(range) => setOption(session, { zoom: range === null ? "" : zoomText(range, x) })}
            limits={limits}
            isLog={isLog(asked)}
            open={(pressed) => hasRollouts && session.place.go(rolloutsAt(session, entry, pressed))}
            onDrawn={setFrame}
          />
          {hasMarks(asked) && (
            <Landmarks
              title={title}
              landmarks={landmarks}
              curve={curve}
              frame={frame}
              rollouts={hasRollouts ? (of) => rolloutsAt(session, entry, of) : null}
            />
          )}
        </div>
      )}
      {notes.length > 0 && <p class={style["others"]}>{notes.join(" · ")}</p>}
      {isMany && curves !== undefined && (
        <Legend
          rows={rows.map((row) => ({
            ...row,
            values: valuesOf(row, pointed),
          }))}
          hidden={hidden}
          toggle={(text) =>
            hide(new Set([...hidden].filter((one) => one !== text).concat(hidden.has(text) ? [] : text)))
          }
          part={tools.part}
        />
      )}
      {!isMany && over.length > 0 && drawing !== MAP && curves !== undefined && (
        <Values lines={(rows[0]?.lines ?? []).slice(isGrouped ? 0 : 1)} pointed={pointed} isGrouped={isGrouped} />
      )}
    </section>
  );
}

/** The values of a curve in each run, as far as any other run has it. */
function valuesOf({ lines }: Row, pointed: number | null): string {
  const shown = lines.slice(1).every(({ curve }) => curve === null) ? lines.slice(0, 1) : lines;
  return shown.map(({ curve }) => score(valueOf(curve, pointed), "–")).join(" · ");
}

/** The axis of values as it is drawn. */
const axisOf = (frame: Frame | null): Limits | null => (frame === null ? null : [frame.bottom, frame.top]);

const nothing = (where: string): string =>
  where === "" ? "No step has this number." : `No sample that matches the filter has this number: ${harmless(where)}`;

/** The settings whose effect is on the axes for everybody to see. */
const OF_AXES: ReadonlySet<string> = new Set(["figure", "where", "split", "x", "low", "high"]);

const sumOf = (curves: readonly (readonly Drawn[])[] | undefined, of: (data: CurveData) => number): number =>
  (curves ?? []).flat().reduce((sum, { data }) => sum + of(data), 0);

/** Why a further curve of the chart is missing. */
const errorsOf = (rows: readonly Row[], curves: readonly (readonly Drawn[])[] | undefined): string[] =>
  rows.slice(1).flatMap(({ title }, i) => {
    const error = curves?.[i + 1]?.[0]?.data.error ?? "";
    return error === "" ? [] : [`${title}: ${harmless(error)}`];
  });

function boundsIn(session: Session, entry: CatalogueEntry): Bounds {
  if (entry.unit.startsWith("share")) return boundsOf(0, 1);
  if (entry.low !== null || entry.high !== null) return boundsOf(entry.low, entry.high);
  return boundsOf(...kindOf(entry.kind).bounds(chartOfEntry(entry), session));
}
