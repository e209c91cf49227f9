/** The settings of one chart that differ from those of the page. */

import { LOOKS, type Chart, MOST_SPAN, USUAL_SPAN } from "../../../lib/charts/chart";
import { whole } from "../../../lib/numbers/numbers";
import { useSession } from "../../../state/useSession";
import { bandOf } from "../band/band";
import { BandSelect } from "../band/BandSelect";
import { askedOf, type Change, groupOf, hasMarks, isLog, spanOf } from "../choice";
import { PointsFields } from "../points/PointsMenu";
import { TypedField } from "../../../ui/controls/TypedField";
import style from "../Metrics.module.css";

interface Props {
  chart: Chart;
  alter: Change;
  plain: () => void;
}

export function OwnSettings({ chart, alter, plain }: Props) {
  const session = useSession();
  const asked = askedOf(session, chart);
  const isGrouped = session.overlays.runs.value.length > 0 && groupOf(asked) !== "";
  return (
    <details class={style["settings"]}>
      <summary>Settings of this chart</summary>
      <label>
        Smoothing over
        <TypedField
          class="field"
          type="number"
          min={0}
          max={MOST_SPAN}
          placeholder="auto"
          value={spanOf(asked) === USUAL_SPAN ? "" : String(spanOf(asked))}
          aria-label="Smoothing: span of the moving average in steps; 0 turns it off"
          take={(typed) => {
            const span = whole(typed);
            if (span !== null && span >= 0 && span <= MOST_SPAN) alter({ ema: String(span) });
          }}
        />
        steps
      </label>
      <div class={style["x"]}>
        band
        <BandSelect band={bandOf(asked, isGrouped)} isGrouped={isGrouped} set={alter} />
      </div>
      <label>
        <input
          type="checkbox"
          checked={isLog(asked)}
          onChange={(event) => alter({ log: event.currentTarget.checked ? "1" : "0" })}
        />
        log
      </label>
      <label>
        <input
          type="checkbox"
          checked={hasMarks(asked)}
          onChange={(event) => alter({ marks: event.currentTarget.checked ? "1" : "0" })}
        />
        marks
      </label>
      <PointsFields asked={asked} set={alter} />
      {LOOKS.some((name) => chart.look[name] !== undefined) && (
        <button type="button" class="action" onClick={plain}>
          As on the page
        </button>
      )}
    </details>
  );
}
