/** The smoothing of all curves. They follow the slider; the page asks the server once it rests. */

import { useEffect } from "preact/hooks";
import { LEAST_SMOOTHED, SPAN, USUAL_SPAN } from "../../../lib/charts/chart";
import { useSession } from "../../../state/useSession";
import { MOST_SPAN, pageAsked, setOption, spanOf } from "../choice";
import { draggedSpan, visit, visits } from "./slider";
import style from "../Metrics.module.css";

const TITLE =
  `Span of the moving average in steps: ${SPAN} by default, none for curves of fewer than ${LEAST_SMOOTHED} steps. ` +
  "The thin lines and all numbers are the values of single steps";

export function Smoothing() {
  const session = useSession();
  const chosen = draggedSpan.value ?? spanOf(pageAsked(session));
  const now = chosen === USUAL_SPAN ? SPAN : chosen;
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
        min={0}
        max={MOST_SPAN}
        value={now}
        aria-valuetext={now === 0 ? "off" : `EMA over ${now} steps`}
        onPointerEnter={visit}
        onFocus={visit}
        onInput={(event) => {
          draggedSpan.value = usual(Number(event.currentTarget.value));
        }}
        onChange={(event) => {
          const next = usual(Number(event.currentTarget.value));
          draggedSpan.value = next;
          afterFrame(() => {
            if (draggedSpan.value !== next) return;
            draggedSpan.value = null;
            setOption(session, { ema: next === USUAL_SPAN ? "" : String(next) });
          });
        }}
      />
      <span class={style["span"]}>{now === 0 ? "off" : `EMA ${now}`}</span>
    </label>
  );
}

const usual = (span: number): number => (span === SPAN ? USUAL_SPAN : span);

/** The curves are drawn first; the address, and everything that depends on it, follows. */
const afterFrame = (work: () => void): number => requestAnimationFrame(() => setTimeout(work));
