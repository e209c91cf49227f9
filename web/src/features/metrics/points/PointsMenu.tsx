/** Which points all charts draw. */

import { useSession } from "../../../state/useSession";
import { Popover } from "../../../ui/overlay/Popover";
import { setOption } from "../choice";
import { FACTOR, factorOf, MOST_FACTOR, pointsOf, wordsOf } from "./points";
import style from "../Metrics.module.css";

export function PointsMenu() {
  const session = useSession();
  const { outliers, skip_first, from_zero, last } = pointsOf(session);
  const words = wordsOf({ outliers, skip_first, from_zero, last }).join(", ");
  return (
    <Popover
      label="Points of the charts"
      title="Which points all charts draw"
      button={words === "" ? "All points ▾" : `Points: ${words} ▾`}
      buttonClass={`action ${style["points"]}`}
    >
      {() => (
        <div class={style["menu"]}>
          <label title="Values far beyond the quartiles of the range. Each chart counts what it leaves out">
            <input
              type="checkbox"
              checked={outliers > 0}
              onChange={(event) => setOption(session, { outliers: event.currentTarget.checked ? String(FACTOR) : "" })}
            />
            Ignore outliers
          </label>
          <label class={style["inner"]}>
            further than
            <input
              class="field"
              type="number"
              min={0.1}
              max={MOST_FACTOR}
              step={0.1}
              disabled={outliers === 0}
              value={outliers || FACTOR}
              aria-label="Outliers are further beyond the quartiles than so many times their distance"
              onChange={(event) => {
                const factor = factorOf(event.currentTarget.value);
                if (factor > 0) setOption(session, { outliers: String(factor) });
                else event.currentTarget.value = String(outliers);
              }}
            />
            × IQR
          </label>
          <label>
            <input
              type="checkbox"
              checked={skip_first}
              onChange={(event) => setOption(session, { first: event.currentTarget.checked ? "0" : "" })}
            />
            Ignore the first step
          </label>
          <label title="Subtract the first value, so that each curve begins at zero">
            <input
              type="checkbox"
              checked={from_zero}
              onChange={(event) => setOption(session, { zero: event.currentTarget.checked ? "1" : "" })}
            />
            Begin at zero
          </label>
          <label>
            Last step
            <input
              class="field"
              inputMode="numeric"
              placeholder="all"
              value={last ?? ""}
              onChange={(event) => setOption(session, { last: event.currentTarget.value.trim() })}
            />
          </label>
        </div>
      )}
    </Popover>
  );
}
