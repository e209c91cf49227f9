/** Options of all curves. */

import type { ComponentChildren } from "preact";
import { acrossOf, labelOf } from "../../lib/charts/across";
import { useSession } from "../../state/useSession";
import { NARROW, useMatch } from "../../ui/hooks/useMatch";
import { bandOf } from "./band/band";
import { BandSelect } from "./band/BandSelect";
import { groupOf, hasMarks, isLog, type Layout, pageAsked, setOption, xOf, zoomOf } from "./choice";
import { XSelect } from "./menu/XSelect";
import { PointsMenu } from "./points/PointsMenu";
import { Smoothing } from "./smoothing/Smoothing";
import style from "./Metrics.module.css";

interface Props {
  layout: Layout;
  /** Content beside the title. */
  views: ComponentChildren;
  children: ComponentChildren;
}

export function Controls({ layout, views, children }: Props) {
  const session = useSession();
  const isNarrow = useMatch(NARROW);
  const asked = pageAsked(session);
  const zoom = zoomOf(asked);
  const x = xOf(asked);
  const words = (zoom ?? []).map((end) => labelOf(acrossOf(x), end)).join(" to ");
  const over = session.overlays.runs.value;
  const isGrouped = over.length > 0 && groupOf(asked) !== "";
  const settings = (
    <>
      <Smoothing />
      <div class={style["x"]} title="The horizontal axis of all charts">
        x
        <XSelect value={x} entries={layout.entries} choose={(text) => session.layout.changeAll({ x: text })} />
        {zoom !== null && (
          <button
            type="button"
            class={`action ${style["range"]}`}
            aria-label="Show the whole range"
            title={`${words}: show the whole range; a double press on a chart does, too`}
            onClick={() => setOption(session, { zoom: "" })}
          >
            <span class="clip">{words}</span> ×
          </button>
        )}
      </div>
      <div
        class={style["band"]}
        title="Around a mean: standard deviations on either side, or percentiles of the samples"
      >
        band
        <BandSelect
          band={bandOf(asked, isGrouped)}
          isGrouped={isGrouped}
          set={({ band = "" }) => setOption(session, { band })}
        />
      </div>
      <label title="A logarithmic scale, which leaves out zero and below">
        <input
          type="checkbox"
          checked={isLog(asked)}
          onChange={(event) => setOption(session, { log: event.currentTarget.checked ? "1" : "" })}
        />
        log
      </label>
      <label title="Checkpoints, resumes and alarms at the foot of the charts">
        <input
          type="checkbox"
          checked={hasMarks(asked)}
          onChange={(event) => setOption(session, { marks: event.currentTarget.checked ? "" : "0" })}
        />
        marks
      </label>
      <PointsMenu />
    </>
  );
  return (
    <header class={style["controls"]}>
      <h1>Metrics</h1>
      {views}
      {isNarrow ? (
        <details class={style["further"]}>
          <summary>Smoothing, axes and points</summary>
          <div>{settings}</div>
        </details>
      ) : (
        settings
      )}
      {children}
    </header>
  );
}
