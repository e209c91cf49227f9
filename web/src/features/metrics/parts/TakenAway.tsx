/**
 * Restores the chart that was removed last, with its settings and in its place; keeps or removes a chart that an alarm
 * showed.
 */

import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import style from "./Parts.module.css";

export function TakenAway() {
  const { layout } = useSession();
  const taken = layout.taken.value;
  const preview = layout.preview.value;
  const charts = layout.charts.value;
  return (
    <div role="status" class={style["taken"]}>
      {taken !== null && (
        <p>
          <span class="clip">{harmless(taken.title)} was removed.</span>
          <button type="button" class="action" onClick={() => layout.bringBack()}>
            Undo
          </button>
        </p>
      )}
      {taken === null && preview !== null && (
        <p>
          <span class="clip">{harmless(preview.title)} is not in your layout.</span>
          <button type="button" class="action" onClick={() => layout.keep(charts)}>
            Keep
          </button>
          <button type="button" class="action" onClick={() => layout.endLook()}>
            Remove
          </button>
        </p>
      )}
    </div>
  );
}
