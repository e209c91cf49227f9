/** The smoothing of all curves. They follow the slider; the page asks the server once it rests. */

import { useEffect } from "preact/hooks";
import { LEAST_SMOOTHED, LEAST_SPAN, MOST_SPAN, USUAL_SPAN } from "../../../lib/charts/chart";
import { useSession } from "../../../state/useSession";
import { pageAsked, setOption, spanOf } from "../choice";
import { draggedSpan, visit, visits } from "./slider";
import style from "../Metrics.module.css";

const TITLE =
  `Span of the moving average in steps. By default (auto), a tenth of the curve's steps, from ${LEAST_SPAN} to ` +
  `${MOST_SPAN}, and none for fewer than ${LEAST_SMOOTHED} steps. ` +
  "The thin lines and all numbers are the values of single steps";

export function Smoothing() {
  const session = useSession();
  const chosen = draggedSpan.value ?? spanOf(pageAsked(session));
  const now = chosen === USUAL_SPAN ? "auto" : chosen === 0 ? "off" : `EMA ${chosen}`;
  useEffect(
    () => () => {
      draggedSpan.value = null;
      visits.value = 0;
    },
    [],
  );
  return (
    <label title={TITLE}>
      Smoothing
      <input
        type="range"
        min={USUAL_SPAN}
        max={MOST_SPAN}
        value={chosen}
        aria-valuetext={now}
        onPointerEnter={visit}
        onFocus={visit}
        onInput={(event) => {
          draggedSpan.value = Number(event.currentTarget.value);
        }}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          draggedSpan.value = next;
          afterFrame(() => {
            if (draggedSpan.value !== next) return;
            draggedSpan.value = null;
            setOption(session, { ema: next === USUAL_SPAN ? "" : String(next) });
          });
        }}
      />
      <span class={style["span"]}>{now}</span>
    </label>
  );
}

/** The curves are drawn first; the address, and everything that depends on it, follows. */
const afterFrame = (work: () => void): number => requestAnimationFrame(() => setTimeout(work));
