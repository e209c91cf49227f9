/** A mean by step: a faint raw line, a firm smoothed line, the spread as a band, and a line at the current step. */

import { useSession } from "../../state/useSession";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, figure, finite, score } from "../../lib/numbers/numbers";
import { sentence } from "../../lib/text/sentence";
import { type Bounds, type Curve, drawnOf, NO_BOUNDS } from "./curvesOf";
import { inksOf, optionsOf } from "./options";
import { useScheme } from "../../ui/hooks/useScheme";
import style from "./CurveChart.module.css";

interface Props {
  /** The subject, as the middle of a sentence. */
  what: string;
  curve: Curve;
  /** The number of the run's colour. */
  colour: number;
  /** The overlaid runs, each with its colour. */
  others: readonly { curve: Curve | null; colour: number }[];
  bounds?: Bounds;
  current: number | null;
  /** Called with the step under the pointer; null when it leaves. */
  hover: (step: number | null) => void;
  /** The numbers across are positions of tokens, from 1 on, in the place of steps. */
  isByPosition?: boolean;
  /** Values on a logarithmic scale, which leaves out those that are not positive. */
  isLog?: boolean;
  /** Charts of one name share the pointer. */
  together?: string;
  /** Called with the pressed step; the page goes there otherwise. */
  open?: (step: number) => void;
}

export function CurveChart({
  what,
  curve,
  colour,
  others,
  bounds = NO_BOUNDS,
  current,
  hover,
  isByPosition = false,
  isLog = false,
  together = "",
  open,
}: Props) {
  const session = useSession();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const drawn = others.map((one) => one.curve);
  const { columns: data, digits } = useMemo(
    () => drawnOf(curve, drawn, bounds, isLog),
    // Compares the overlaid runs one by one: their list is another object each time.
    // oxlint-disable-next-line react/exhaustive-deps
    [curve, bounds.low, bounds.high, isLog, drawn.length, ...drawn],
  );
  const now = useRef({ current, data, digits, bounds, open });
  now.current = { current, data, digits, bounds, open };
  const colours = [colour, ...others.map((one) => one.colour)].join(" ");

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const width = element.clientWidth;
    const chart = new uPlot(
      optionsOf({
        width,
        inks: inksOf(
          element,
          colour,
          others.map((one) => one.colour),
        ),
        digits: () => now.current.digits,
        last: () => now.current.data[0].at(-1) ?? 0,
        current: () => now.current.current,
        hover: (index) => hover(index === null ? null : (now.current.data[0][index] ?? null)),
        isByPosition,
        bounds: () => now.current.bounds,
        isLog,
        together,
        open(index) {
          const step = now.current.data[0][index];
          if (step === undefined || isByPosition) return;
          if (now.current.open === undefined) session.steps.goNear(step);
          else now.current.open(step);
        },
      }),
      data,
      element,
    );
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== chart.width)
        chart.setSize({ width: element.clientWidth, height: chart.height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
    // The chart is rebuilt when colours change, as with another overlaid run; new data and another step only redraw it,
    // below.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scheme, colours, isLog, together]);

  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => plot.current?.redraw(false), [current]);

  return (
    <div
      ref={host}
      class={`${style["chart"]} ${isByPosition ? style["still"] : ""}`}
      role="img"
      aria-label={words(what, curve, isByPosition)}
    />
  );
}

function words(what: string, { steps, mean }: Curve, isByPosition: boolean): string {
  const means = mean.map(finite).filter((one) => one !== null);
  const [first = null, last = null] = [means[0], means.at(-1)];
  const range = `from ${score(first, "none")} to ${score(last, "none")}`;
  const across = isByPosition ? `${figure(steps.at(-1) ?? 0)} positions` : count(steps.length, "step");
  return sentence(`${what} over ${across}: ${range}`);
}
