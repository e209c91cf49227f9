/** The points that all charts, or one chart, draw. */

import { useSession } from "../../../state/useSession";
import { Popover } from "../../../ui/overlay/Popover";
import { type Asked, type Change, pageAsked, setOption } from "../choice";
import { FACTOR, factorOf, MOST_FACTOR, pointsOf, wordsOf } from "./points";
import { TypedField } from "../../../ui/controls/TypedField";
import style from "../Metrics.module.css";

/** The usual choice is not in the address. */
const USUAL: Asked = { outliers: "0", first: "1", zero: "0" };

export function PointsMenu() {
  const session = useSession();
  const asked = pageAsked(session);
  const words = wordsOf(pointsOf(asked)).join(", ");
  const set: Change = (change) =>
    setOption(
      session,
      Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value === USUAL[name] ? "" : value])),
    );
  return (
    <Popover
      label="Points of the charts"
      title="Points that all charts draw"
      button={words === "" ? "Outliers and range ▾" : `Points ${words} ▾`}
      buttonClass={`action ${style["points"]}`}
    >
      {() => (
        <div class={style["menu"]}>
          <PointsFields asked={asked} set={set} />
        </div>
      )}
    </Popover>
  );
}

export function PointsFields({ asked, set }: { asked: Asked; set: Change }) {
  const { outliers, skip_first, from_zero, last } = pointsOf(asked);
  return (
    <>
      <label title="Values far beyond the quartiles of the range. Each chart counts what it leaves out">
        <input
          type="checkbox"
          checked={outliers > 0}
          onChange={(event) => set({ outliers: event.currentTarget.checked ? String(FACTOR) : "0" })}
        />
        Ignore outliers
      </label>
      <label class={style["inner"]}>
        beyond
        <TypedField
          class="field"
          type="number"
          min={0.1}
          max={MOST_FACTOR}
          step={0.1}
          disabled={outliers === 0}
          value={String(outliers || FACTOR)}
          aria-label="Outliers lie beyond the quartiles by more than this multiple of their distance"
          take={(typed) => {
            const factor = factorOf(typed);
            if (factor > 0) set({ outliers: String(factor) });
          }}
        />
        × IQR
      </label>
      <label>
        <input
          type="checkbox"
          checked={skip_first}
          onChange={(event) => set({ first: event.currentTarget.checked ? "0" : "1" })}
        />
        Ignore the first step
      </label>
      <label title="Numbers are then the change since the first value of each curve">
        <input
          type="checkbox"
          checked={from_zero}
          onChange={(event) => set({ zero: event.currentTarget.checked ? "1" : "0" })}
        />
        Shift curves to begin at zero
      </label>
      <label>
        Last step
        <TypedField
          class="field"
          inputMode="numeric"
          placeholder="all"
          value={String(last ?? "")}
          take={(typed) => set({ last: typed.trim() })}
        />
      </label>
    </>
  );
}
