/** The metrics of a run: a catalogue, the chosen curves, and what stands out in them. */

import { getCatalogue } from "../../api/metrics";
import type { AlarmItem } from "../../api/types.gen";
import { keyOfCurve, sectionsOf } from "../../lib/charts/catalogue";
import { nameOf } from "../../lib/charts/chart";
import { idOf } from "../../lib/charts/layout";
import { count, figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { areMarksLoaded, marksError } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Alone, Failure, Loading, Missing, State } from "../../ui/layout/EmptyState";
import { SLIM, useMatch } from "../../ui/hooks/useMatch";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Segments } from "../../ui/controls/Segments";
import { StepView } from "../distribution";
import { Alarms, curvesWith, showCurves } from "./Alarms";
import { rulesOff } from "./alarms/rulesOff";
import { useAlarms } from "./alarms/useAlarms";
import { Catalogue } from "./catalogue/Catalogue";
import { NearCard } from "./NearCard";
import { hasMarks, type Layout, layoutOf, pageAsked, setOption } from "./choice";
import { Controls } from "./Controls";
import { LayoutMenu } from "./LayoutMenu";
import { landmarksIn } from "./landmarks/landmarks";
import { MarkKinds } from "./landmarks/Landmarks";
import { useLandmarks } from "./landmarks/useLandmarks";
import { visit } from "./smoothing/slider";
import { SectionTitle } from "./parts/SectionTitle";
import { TakenAway } from "./parts/TakenAway";
import { packed } from "./sections/packing";
import { RunsSection } from "./runs/RunsSection";
import { useCurves } from "./useCurves";
import { cardClass, useMoves } from "./useMoves";
import style from "./Metrics.module.css";

export function MetricsPage() {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const isSlim = useMatch(SLIM);
  // A run without samples has no split, but may have metrics of the trainer.
  const isKnown = run !== null && (split !== null || run.splits.length === 0);
  const loaded = useFollowed(isKnown ? JSON.stringify([run.id, split]) : null, run?.version ?? "", () =>
    getCatalogue(run?.id ?? "", split ?? ""),
  );
  const reply = loaded.value;
  const isByStep = session.place.now.value.ask["view"] !== STEP;
  const alarms = useAlarms(isByStep && reply !== null && run !== null ? [run, ...session.overlays.runs.value] : []);
  if (reply === null || !(areMarksLoaded.value || marksError.value !== null))
    return (
      <Alone heading="Metrics">
        {loaded.error === null ? <Loading /> : <Failure error={loaded.error} what="The metrics" again={loaded.again} />}
      </Alone>
    );
  if (reply.entries.length === 0)
    return (
      <Alone heading="Metrics">
        <State title="This run has no curves yet">
          <p>Curves begin with the first sample, or with the first metric that the trainer logs. The page follows.</p>
        </State>
      </Alone>
    );
  const { entries } = reply;
  const asked = session.place.now.value.ask;
  if (!isByStep)
    return (
      <main class={`${style["page"]} ${style["apart"]}`} aria-label="Metrics">
        <header class={style["controls"]}>
          <h1>Metrics</h1>
          <Views now={STEP} />
        </header>
        <div class={style["middle"]} data-scroll="metrics">
          <StepView
            entries={entries}
            of={asked["of"] ?? ""}
            beside={asked["beside"] ?? ""}
            choose={(of, beside) => setOption(session, { of, beside })}
          />
        </div>
      </main>
    );
  const layout = layoutOf(session, entries);
  const catalogue = <Catalogue entries={entries} layout={layout} leftOut={reply.left_out} />;
  return (
    <main class={style["page"]} aria-label="Metrics">
      <Controls layout={layout} views={run !== null && run.splits.length > 0 && <Views now="" />}>
        <LayoutMenu entries={entries} />
      </Controls>
      {isSlim && run !== null && <RunsSection run={run} />}
      {isSlim ? (
        <details class={style["choose"]}>
          <summary>
            Choose charts: {layout.placed.length} of {count(entries.length, "metric")}
          </summary>
          {catalogue}
        </details>
      ) : (
        <div class={style["left"]} data-scroll="catalogue">
          {run !== null && <RunsSection run={run} />}
          <h2 class={style["chooseTitle"]}>
            Choose charts{" "}
            <small
              title={count(entries.length, "metric")}
            >{`${figure(layout.placed.length)} of ${figure(entries.length)}`}</small>
          </h2>
          {catalogue}
        </div>
      )}
      <div class={style["middle"]} data-scroll="metrics" onPointerEnter={visit}>
        {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
        <Shown layout={layout} alarms={alarms.all.find((one) => one.run === run)?.reply.alarms ?? NONE} />
        <TakenAway />
      </div>
      <aside class={style["right"]} aria-label="Worth a look">
        <Alarms found={alarms} layout={layout} />
      </aside>
    </main>
  );
}

const STEP = "step";
const NONE: readonly AlarmItem[] = [];

/** Curves over all steps, or the samples of one. */
function Views({ now }: { now: string }) {
  const session = useSession();
  const step = session.place.field.step.value;
  return (
    <Segments
      label="Steps"
      options={[
        { value: "", label: "All steps", title: "Curves over all steps" },
        {
          value: STEP,
          label: `One step${step === null ? "" : `: ${figure(step)}`}`,
          title: "How the samples of one step are distributed",
        },
      ]}
      value={now}
      choose={(view) => setOption(session, { view })}
    />
  );
}

/** The charts by section, from one request. */
function Shown({ layout, alarms }: { layout: Layout; alarms: readonly AlarmItem[] }) {
  const session = useSession();
  const { placed, missing } = layout;
  const off = rulesOff(session.run.now.value?.id ?? "");
  const rules = [...off.keys()].join(" ");
  const raised = useMemo(() => alarms.filter(({ rule }) => !rules.split(" ").includes(rule)), [alarms, rules]);
  const { landmarks, leftOut } = useLandmarks(raised);
  const { curvesOf, groups, csvOf, error, again } = useCurves(placed);
  const { drag, grab } = useMoves(layout);
  const [pointed, point] = useState<number | null>(null);
  const wanted = pageAsked(session)["curve"] ?? "";
  useEffect(() => {
    if (wanted !== "") showCurves(curvesWith(new Set([wanted]), layout), layout);
    // A link leads to the curve once; the charts of the page may change later.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [wanted]);
  const place = new Map(placed.map((one, at) => [one, at]));
  const keys = new Map(placed.map((one) => [one, [one, ...one.series].map(keyOfCurve)]));
  const charted = new Set([...keys.values()].flat());
  const sections = sectionsOf(placed);
  const spans = packed(sections.map(({ entries }) => entries.length));
  return (
    <>
      {error !== null && <Missing error={error} again={again} />}
      {placed.length === 0 && (
        <State title={missing.length > 0 ? "This run has none of the charts of the layout" : "No chart is chosen"}>
          <p>Choose metrics from the list.</p>
          <Usual />
        </State>
      )}
      {hasMarks(pageAsked(session)) && <MarkKinds landmarks={landmarksIn(landmarks, charted)} leftOut={leftOut} />}
      <div class={style["sections"]}>
        {sections.map(({ name, entries }, i) => (
          <section key={name} aria-label={name} style={spans[i] ?? {}}>
            <SectionTitle
              name={name}
              isFirst={entries[0] === placed[0]}
              isLast={entries.at(-1) === placed.at(-1)}
              rename={(to) => layout.renameSection(name, to)}
              move={(by) => layout.moveSection(name, by)}
            />
            <div class={style["charts"]}>
              {entries.map((entry) => {
                const at = place.get(entry) ?? 0;
                const own = keys.get(entry) ?? [];
                return (
                  <div key={idOf(entry.chart)} data-place={at} data-curves={own.join("\n")} class={cardClass(drag, at)}>
                    <NearCard
                      entry={entry}
                      curves={curvesOf(entry)}
                      isMissing={error !== null}
                      groups={groups}
                      csv={() => csvOf(entry)}
                      entries={layout.entries}
                      pointed={pointed}
                      point={point}
                      landmarks={landmarksIn(landmarks, new Set(own))}
                      tools={layout.toolsAt(at, grab)}
                    />
                  </div>
                );
              })}
            </div>
          </section>
        ))}
      </div>
      {placed.length > 0 && missing.length > 0 && (
        <p class={style["quiet"]} title={harmless(missing.map(nameOf).join(", "))}>
          This run has no curve for {count(missing.length, "other chart")} of the layout.
        </p>
      )}
    </>
  );
}

function Usual() {
  const { layout } = useSession();
  if (layout.charts.value === null) return null;
  return (
    <p>
      <button type="button" class="button" onClick={() => layout.keep(null)}>
        Restore default charts
      </button>
    </p>
  );
}
