/** Mean reward by step: raw line faint, smoothed line firm, spread as a band, a line at the current step. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { StepsReply } from "../../api/types.gen";
import { count, finite, score } from "../../lib/numbers";
import { go } from "../../state/place";
import { SPAN } from "./Charts";
import { curvesOf } from "./curvesOf";
import { inksOf, optionsOf } from "./options";
import { useScheme } from "./useScheme";
import style from "./RewardChart.module.css";

interface Props {
  steps: StepsReply;
  current: number | null;
  /** Told which step the pointer is at, by its place among the steps; null when it leaves. */
  hover: (index: number | null) => void;
}

export function RewardChart({ steps, current, hover }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const data = useMemo(() => curvesOf(steps, SPAN), [steps]);
  const now = useRef({ current, steps });
  now.current = { current, steps };

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const width = element.clientWidth;
    const made = new uPlot(
      optionsOf({
        width,
        inks: inksOf(element),
        current: () => now.current.current,
        hover,
        open(index) {
          const step = now.current.steps.steps[index];
          if (step !== undefined) go({ step });
        },
      }),
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== made.width) made.setSize({ width: element.clientWidth, height: made.height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
    // The chart is made anew when the colours change; new data and another step only redraw it, below.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scheme]);

  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => plot.current?.redraw(false), [current]);

  return <div ref={host} class={style["chart"]} role="img" aria-label={words(steps)} />;
}

function words({ steps, reward_mean }: StepsReply): string {
  const means = reward_mean.map(finite);
  const first = means.find((mean) => mean !== null) ?? null;
  const last = means.findLast((mean) => mean !== null) ?? null;
  return `Mean reward over ${count(steps.length, "step")}: from ${score(first, "none")} to ${score(last, "none")}. The list of steps holds the numbers.`;
}
