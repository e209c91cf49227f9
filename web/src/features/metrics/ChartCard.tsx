/** One curve by step; a press opens the rollouts of the step. */

import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { CatalogueEntry, CurveGroup, DistributionReply } from "../../api/types.gen";
import { acrossOf } from "../../lib/charts/across";
import { isShare } from "../../lib/charts/chart";
import { definitionOf } from "../../lib/charts/words/basis";
import type { Placed } from "../../lib/charts/layout";
import { count, figure } from "../../lib/numbers/numbers";
import { wordsOfValues } from "../../lib/numbers/percent";
import { sentence } from "../../lib/text/sentence";
import { harmless } from "../../lib/text/invisible";
import { colourOf, nameOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { banded, type Charted, type Frame, kindOf, type Limits, type MapCharted } from "../charts";
import { StepHistogram } from "../distribution";
import { acrossWords } from "./acrossWords";
import { bandOf, wordsOfBand } from "./band/band";
import { type Asked, type ChartTools, groupOf, hiddenRuns, isLog, limitsOf, xOf, xTitle, zoomOf } from "./choice";
import { DistributionChart } from "./figure/DistributionChart";
import { figureOf, MAP, wordsOfFigure } from "./figure/figure";
import { mappedRun } from "./figure/mapped";
import { RunOfMap } from "./figure/RunOfMap";
import { brief, splitOf, whereOf } from "./filter/filter";
import { sourcesOf } from "./groups/sources";
import { Values } from "./groups/Values";
import { type Landmark } from "./landmarks/landmarks";
import { ChartHead } from "./parts/ChartHead";
import { Legend } from "./parts/Legend";
import { dashesOf } from "./parts/dashes";
import { drawnOf, keyOfRows, placeOf, reachOf, type Row, rowsOf, shownAs, valueOf, withBands } from "./parts/lines";
import { boundsOfAll, meaning } from "./parts/meaning";
import { notesOf, notesOfMap } from "./parts/notes";
import { Plot } from "./parts/Plot";
import { pointsOf, wordsOf } from "./points/points";
import type { Drawn } from "./useCurves";
import style from "./Metrics.module.css";

interface Props {
  entry: Placed;
  /**
   * For each curve of the chart, the curve of the run, then those of the other runs; undefined until they are loaded.
   */
  curves: readonly (readonly Drawn[])[] | undefined;
  /** True if the curves could not be loaded; the page says why. */
  isMissing: boolean;
  /** The groups of runs that the curves belong to; null if each belongs to one run. */
  groups: readonly CurveGroup[] | null;
  /** The address of all points, as a file. */
  csv: () => string;
  /** The catalogue. */
  entries: readonly CatalogueEntry[];
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
  /** Checkpoints, resumes and alarms of the run. */
  landmarks?: readonly Landmark[];
  tools: ChartTools;
  /** Beside the rollouts: it shows the value of the current step, and a press goes to a step. */
  isAside?: boolean;
}

/** The values of more runs do not fit in a line: the chart shows them at the pointer. */
const MOST_IN_LINE = 4;
const NONE: readonly Row[] = [];
const NO_LANDMARKS: readonly Landmark[] = [];

/** A distribution as drawn, and the number of samples that it leaves out. */
interface Mapped {
  map: DistributionReply | null;
  leftOut: number;
}

export function ChartCard({
  host,
  asked,
  entry,
  curves,
  isMissing,
  groups,
  csv,
  entries,
  pointed,
  point,
  landmarks = NO_LANDMARKS,
  tools,
  isAside = false,
}: Props & { host: RefObject<HTMLElement | null>; asked: Asked }) {
  const session = useSession();
  const current = session.place.lateStep.value;
  const [frame, setFrame] = useState<Frame | null>(null);
  const band = bandOf(asked, groups !== null);
  const { scale, between } = band;
  const [{ map, leftOut }, setMapped] = useState<Mapped>({ map: null, leftOut: 0 });
  const [asShown, show] = useState<ReadonlyMap<string, boolean>>(new Map());
  const own = curves?.[0]?.[0];
  const over = session.overlays.runs.value;
  const run = session.run.now.value;
  const runs = run === null ? [] : [run, ...over];
  const isGrouped = groups !== null;
  // Several curves of one run have a band each; those of several runs would cover each other.
  const isBanded = isGrouped || over.length === 0;
  const which = pointsOf(asked);
  const dashes = useMemo(() => dashesOf((curves ?? []).map(([first]) => first?.curve ?? null)), [curves]);
  const sources = sourcesOf(runs, groups, groupOf(asked), hiddenRuns(asked));
  const rows = shownAs(rowsOf(entry, curves, sources, dashes, which.from_zero), asShown);
  const isMany = rows.length > 1;
  const drawn = useMemo(
    () => drawnOf(rows),
    // The rows are new objects each time, for the same curves.
    // oxlint-disable-next-line react/exhaustive-deps
    [curves, keyOfRows(rows)],
  );
  const whole = drawn?.curve ?? null;
  const curve = useMemo(() => (whole === null ? null : banded(whole, scale, between)), [whole, scale, between]);
  const others = useMemo(
    () => (isBanded ? withBands(drawn?.others ?? [], scale, between) : (drawn?.others ?? [])),
    [drawn, isBanded, scale, between],
  );
  const hasRollouts = run !== null && run.splits.length > 0;
  const looked = pointed ?? (isAside ? current : null);
  const at = placeOf(own?.curve ?? null, looked);
  const drawing = figureOf(asked, entry.kind);
  const isMap = drawing === MAP;
  const step = isGrouped || isMany || drawing === MAP ? undefined : own?.curve?.steps[at];
  const wordsOfNumber = wordsOfValues(isShare(entry.chart), which.from_zero);
  const isOwnHidden = rows[0]?.lines[0]?.isHidden === true;
  const value = isOwnHidden ? "" : wordsOfNumber(valueOf(own?.curve ?? null, looked), "none");
  const average = wordsOfNumber(own?.curve?.smooth[at], "none");
  const edges = (band.between === "" ? own?.data.spread : own?.data.low) ?? null;
  const hasBand = band.scale > 0 && !isMap && edges !== null && (curve?.steps.length ?? 0) > 1;
  const around = `${band.between === "" ? " " : ", "}${wordsOfBand(band)}`;
  const chosen = isGrouped ? [wordsOfFigure(drawing, entry.kind), "mean of runs"] : [meaning(entry, drawing)];
  const mapOf = mappedRun(session, asked);
  const ofRun = isMap && over.length > 0 && mapOf !== null ? `of ${harmless(nameOf(mapOf))}` : "";
  const figures = `${chosen.filter((one) => one !== "").join(", ")}${hasBand ? around : ""}`;
  const title = harmless(entry.title);
  const span = own?.span ?? 0;
  const x = own?.x ?? "";
  const across = acrossOf(x);
  const xName = isMap ? "step" : xTitle(x, entries);
  const zoom = x === xOf(asked) ? zoomOf(asked) : null;
  const reach = useMemo(() => reachOf(curves), [curves]);
  const averageWords = average === value ? "" : `EMA ${figure(span)}: ${average}`;
  const hasLine = over.length > 0 ? curve !== null : rows.some(({ lines }) => (lines[0]?.curve?.steps.length ?? 0) > 1);
  const bounds = boundsOfAll(session, rows, which.from_zero || drawing === "std");
  const definition = isMap || isMany ? "" : definitionOf(entry.chart, { hasDiscarded: session.run.hasDiscarded.value });
  const notes = isMap
    ? notesOfMap({ chart: entry.chart, asked, leftOut })
    : notesOf({
        chart: entry.chart,
        rows,
        curves,
        pointed: looked,
        xName,
        isShifted: which.from_zero,
        isLog: isLog(asked),
      });
  const below = isAside && definition !== "" ? [...notes, definition] : notes;
  const words = [
    splitOf(asked, session.place.field.split.value ?? ""),
    whereOf(asked),
    ...wordsOf(isMap ? { ...which, from_zero: false } : which),
    definition,
    ...notes,
  ];
  const noteOf = (...parts: string[]): string => parts.filter((one) => one !== "").join(" · ");
  const charted = ((): Charted | MapCharted | null => {
    if (run === null) return null;
    if (isMap)
      return map && { title, note: noteOf(figures, ofRun, ...words), map, colour: colourOf(mapOf?.id ?? run.id) };
    if (curve === null || !hasLine) return null;
    return {
      title,
      note: noteOf(figures, span > 0 ? `EMA over ${count(span, "step")}` : "", ...words),
      across: xName,
      kind: across,
      zoom: zoom ?? reach,
      limits: axisOf(frame) ?? limitsOf(asked),
      curve,
      name: rows[0]?.lines[0]?.name ?? "",
      colour: rows[0]?.lines[0]?.colour ?? 1,
      others,
      bounds,
      isLog: isLog(asked),
    };
  })();
  return (
    <section ref={host} class={style["chart"]} aria-label={`${title} by ${harmless(xName).toLowerCase()}`}>
      <ChartHead
        entry={entry}
        asked={asked}
        entries={entries}
        figures={figures}
        definition={definition}
        colour={over.length > 0 && !isGrouped && !isOwnHidden && run !== null ? colourOf(run.id) : null}
        pointed={pointed}
        step={step}
        which={whichOf(step, pointed, isAside ? current : undefined)}
        value={value}
        average={averageWords}
        csv={csv}
        charted={charted}
        hasRollouts={hasRollouts && !isAside}
        error={own?.data.error ?? ""}
        tools={tools}
      />
      {isMap ? (
        <DistributionChart
          entry={entry}
          pointed={pointed}
          point={point}
          onDrawn={(...is) => setMapped({ map: is[0], leftOut: is[1] })}
        />
      ) : curves === undefined || run === null ? (
        <p class={style["empty"]}>{isMissing ? "Not loaded." : <span class={style["loading"]}>Loading …</span>}</p>
      ) : curve === null ? (
        <p class={style["empty"]} title={harmless(own?.data.error ?? "")}>
          {own?.data.error
            ? isAside
              ? kindOf(entry.kind).none
              : harmless(sentence(brief(own.data.error)))
            : nothing(whereOf(asked))}
        </p>
      ) : !hasLine && over.length === 0 && entry.kind === "sample" ? (
        <StepHistogram name={entry.name} title={title} />
      ) : !hasLine ? (
        <p class={style["empty"]}>Only one step has a value.</p>
      ) : (
        <Plot
          entry={entry}
          asked={asked}
          what={`${figures === "" ? "" : `${figures} of `}${entry.title}`}
          curve={curve}
          bounds={bounds}
          colour={rows[0]?.lines[0]?.colour ?? 1}
          others={others}
          point={point}
          x={x}
          pointed={pointed}
          zoom={zoom}
          reach={reach}
          landmarks={landmarks}
          isAside={isAside}
          frame={frame}
          setFrame={setFrame}
          readout={(pressed) => ({
            across: x === "" ? "" : acrossWords(own?.curve?.steps[at] ?? pressed, own?.data),
            value: isMany ? "" : value,
            average: isMany && span > 0 ? `EMA ${figure(span)}` : isOwnHidden ? "" : averageWords,
            rows: isMany || (!isGrouped && runs.length > MOST_IN_LINE) ? rows.filter((row) => !row.isHidden) : NONE,
          })}
        />
      )}
      {!isMap && across !== "step" && curve !== null && hasLine && <p class={style["across"]}>{harmless(xName)}</p>}
      {below.length > 0 && <p class={style["others"]}>{below.join(" · ")}</p>}
      {isMany && curves !== undefined && (
        <Legend rows={rows} show={(text, isShown) => show(new Map(asShown).set(text, isShown))} part={tools.part} />
      )}
      {isMap && over.length > 0 && <RunOfMap title={title} />}
      {!isMany && over.length > 0 && !isMap && curves !== undefined && (isGrouped || runs.length <= MOST_IN_LINE) && (
        <Values lines={rows[0]?.lines ?? []} pointed={looked} isGrouped={isGrouped} />
      )}
    </section>
  );
}

/** The step of the value in words, unless it is the one that everybody expects. */
function whichOf(step: number | undefined, pointed: number | null, current: number | null | undefined): string {
  if (step === undefined || pointed !== null || step === current) return "";
  return current === undefined ? "last" : `step ${figure(step)}`;
}

/** The axis of values as it is drawn. */
const axisOf = (frame: Frame | null): Limits | null => (frame === null ? null : [frame.bottom, frame.top]);

const nothing = (where: string): string =>
  where === "" ? "No step has this number." : `No sample that matches the filter has this number: ${harmless(where)}`;
