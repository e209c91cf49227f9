/** The metrics of a run: a catalogue, the chosen curves, and what stands out in them. */

import { getCatalogue } from "../../api/metrics";
import type { CatalogueEntry } from "../../api/types.gen";
import { sectionsOf } from "../../lib/charts/catalogue";
import { count } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { Alone, Failure, Loading, Missing, State } from "../../ui/layout/EmptyState";
import { SLIM, useMatch } from "../../ui/hooks/useMatch";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Text } from "../../ui/text/Text";
import { Alarms } from "./Alarms";
import { Catalogue } from "./Catalogue";
import { ChartCard } from "./ChartCard";
import { isUsual, show, shownOf } from "./choice";
import { Controls } from "./Controls";
import { useCurves } from "./useCurves";
import style from "./Metrics.module.css";

export function MetricsPage() {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const isSlim = useMatch(SLIM);
  // A run without samples has no split, and may have the trainer's metrics.
  const isKnown = run !== null && (split !== null || run.splits.length === 0);
  const loaded = useFollowed(isKnown ? JSON.stringify([run.id, split]) : null, run?.version ?? "", () =>
    getCatalogue(run?.id ?? "", split ?? ""),
  );
  const reply = loaded.value;
  if (reply === null)
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
  const shown = shownOf(session, entries);
  const catalogue = <Catalogue entries={entries} shown={shown} leftOut={reply.left_out} />;
  return (
    <main class={style["page"]} aria-label="Metrics">
      <Controls />
      {isSlim ? (
        <details class={style["choose"]}>
          <summary>
            Choose charts: {shown.length} of {count(entries.length, "metric")}
          </summary>
          {catalogue}
        </details>
      ) : (
        <div class={style["left"]} data-scroll="catalogue">
          {catalogue}
        </div>
      )}
      <div class={style["middle"]} data-scroll="metrics">
        {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
        <Shown shown={shown} all={entries} />
      </div>
      <aside class={style["right"]} aria-label="Worth a look">
        <Alarms />
      </aside>
    </main>
  );
}

/** The charts by section, from one request. */
function Shown({ shown, all }: { shown: readonly CatalogueEntry[]; all: readonly CatalogueEntry[] }) {
  const session = useSession();
  const { curvesOf, error, again } = useCurves(shown);
  if (shown.length === 0)
    return (
      <State title="No chart is chosen">
        <p>Choose metrics from the list.</p>
        <Usual />
      </State>
    );
  return (
    <>
      {error !== null && <Missing error={error} again={again} />}
      <div class={style["sections"]}>
        {sectionsOf(shown).map(({ name, entries }) => (
          <section key={name} aria-label={name} style={{ "--count": String(entries.length) }}>
            <h2>
              <Text text={name} />
            </h2>
            <div class={style["charts"]}>
              {entries.map((entry) => (
                <ChartCard
                  key={`${entry.kind} ${entry.name} ${entry.source} ${entry.stat}`}
                  entry={entry}
                  curves={curvesOf(entry)}
                  remove={() =>
                    show(
                      session,
                      shown.filter((one) => one !== entry),
                    )
                  }
                />
              ))}
            </div>
          </section>
        ))}
      </div>
      {!isUsual(session) && shown.length < all.length && <Usual />}
    </>
  );
}

function Usual() {
  const session = useSession();
  if (isUsual(session)) return null;
  return (
    <p>
      <button type="button" class="button" onClick={() => show(session, null)}>
        The usual charts
      </button>
    </p>
  );
}
