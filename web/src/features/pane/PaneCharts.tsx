/** The charts below the reward: the cards of the page of metrics, one below the other. */

import { useState } from "preact/hooks";
import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry } from "../../lib/charts/catalogue";
import { type Chart, chartOf, nameOf } from "../../lib/charts/chart";
import { idOf, type Placed, type Series } from "../../lib/charts/layout";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { Missing } from "../../ui/layout/EmptyState";
import { kindOf } from "../charts";
import { cardClass, NearCard, type Layout, layoutIn, useCurves, useMoves } from "../metrics";

/** The person's layout of the pane; `entries` is the catalogue, as far as it is known. */
export function usePaneLayout(entries: readonly CatalogueEntry[]): Layout {
  const session = useSession();
  const charts = session.charts.shown.value;
  const change = (changed: readonly Chart[]): void => session.view.chooseCharts(changed);
  return layoutIn(entries, {
    charts,
    placed: charts.map((chart) => entryOf(chart, session)),
    added: (placed, entry) => [...placed.map((one) => one.chart), chartOfEntry(entry)],
    change,
    takeAway: (_, changed) => change(changed),
    look: (_, changed) => change(changed),
  });
}

export function PaneCharts({ layout }: { layout: Layout }) {
  const session = useSession();
  const { placed } = layout;
  const split = session.place.field.split.value;
  const last = session.steps.last.value;
  const drawable = placed.filter(({ kind }) => split !== null || !kindOf(kind).isOfSplit);
  // Logged metrics are slow to read: they are asked for apart, and again with each step, not with each sample.
  const ofSamples = useCurves(drawable.filter((one) => !isLogged(one)));
  const logged = useCurves(drawable.filter(isLogged), last === null ? null : String(last));
  const { drag, grab } = useMoves(layout);
  const [pointed, point] = useState<number | null>(null);
  return (
    <>
      {placed.map((entry, at) => {
        const { curvesOf, csvOf, error, again } = isLogged(entry) ? logged : ofSamples;
        return (
          <div key={idOf(entry.chart)} data-place={at} class={cardClass(drag, at)}>
            {error !== null && <Missing error={error} again={again} />}
            <NearCard
              entry={entry}
              curves={curvesOf(entry)}
              isMissing={error !== null}
              groups={null}
              csv={() => csvOf(entry)}
              entries={layout.entries}
              pointed={pointed}
              point={point}
              tools={layout.toolsAt(at, grab)}
              isAside
            />
          </div>
        );
      })}
    </>
  );
}

const isLogged = ({ kind }: Placed): boolean => kind === "trainer";

/** The chart as an entry of the catalogue, made without a request. */
function entryOf(chart: Chart, session: Session): Placed {
  const entry = seriesOf(chart, session);
  const series = chart.more.flatMap((text) => chartOf(text) ?? []);
  return {
    ...entry,
    title: chart.title || entry.title,
    short: chart.title || kindOf(chart.kind).short(chart, session),
    curve: entry.title,
    series: series.map((one) => seriesOf(one, session)),
  };
}

function seriesOf(chart: Chart, session: Session): Series {
  const { kind, name, source, stat, options } = chart;
  const [low, high] = kindOf(kind).bounds(chart, session);
  const { k = 0, reason = "" } = options ?? {};
  const title = kindOf(kind).words(chart, session) || nameOf(chart);
  return {
    kind,
    name,
    source,
    stat,
    k,
    reason,
    title,
    section: "",
    unit: kindOf(kind).figure,
    about: "",
    low,
    high,
    chart,
  };
}
