/** A mean by step: a faint raw line, a firm smoothed line, the spread as a band, and a line at the current step. */

import { useSession } from "../../state/useSession";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Across } from "../../lib/charts/across";
import type { Dash } from "../../lib/charts/picture";
import { nearest } from "../../lib/numbers/nearest";
import { count, figure, finite } from "../../lib/numbers/numbers";
import { wordsOfValues } from "../../lib/numbers/percent";
import { sentence } from "../../lib/text/sentence";
import { type Bounds, type Curve, drawnOf, NO_BOUNDS } from "./curvesOf";
import { type Limits, NO_LIMITS, type Range, rangeOf } from "./axis";
import { type Beyond, type Ends, beyondOf, fitOf, wordsOf } from "./edge/fit";
import type { Frame } from "./drawing/frame";
import { watch } from "./drawing/watch";
import { firmness, inksOf } from "./inks";
import { HEIGHT_PX, optionsOf, TALL_PX } from "./options";
import { useScheme } from "../../ui/hooks/useScheme";
import style from "./CurveChart.module.css";

interface Props {
  /** The subject, as the middle of a sentence. */
  what: string;
  curve: Curve;
  /** The number of the run's colour. */
  colour: number;
  /** The overlaid runs, each with its colour. */
  others: readonly { curve: Curve | null; colour: number; dash?: Dash }[];
  bounds?: Bounds;
  current: number | null;
  /** Called with the step under the pointer; null when it leaves. */
  hover: (step: number | null) => void;
  /** True if x is the position of a token, from 1, instead of the step. */
  isByPosition?: boolean;
  /** Draws values on a logarithmic scale, which leaves out zero and below. */
  isLog?: boolean;
  /** The meaning of x. */
  across?: Across;
  /** The step that a person points at, here or in another chart. */
  pointed?: number | null;
  /** The range of x, if it is not that of the points; dragging chooses a different one. */
  zoom?: Range | null;
  /** The range of x over all points, if it is wider than over the drawn ones. */
  reach?: Range | null;
  onZoom?: ((range: Range | null) => void) | null;
  /** The ends of the axis of values that a person chose. */
  limits?: Limits;
  /** Called with what is drawn, whenever that changes. */
  onDrawn?: ((frame: Frame) => void) | null;
  /** True if title and dot have the value of the current step. */
  isOfStep?: boolean;
  /** Called with the pressed step; the page goes there otherwise. */
  open?: (step: number) => void;
  /** True for the main chart of a page. */
  isTall?: boolean;
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
  across = "step",
  pointed = null,
  zoom = null,
  reach = null,
  onZoom = null,
  limits = NO_LIMITS,
  onDrawn = null,
  isOfStep = false,
  open,
  isTall = false,
}: Props) {
  const session = useSession();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** A chart far from the screen is drawn when it comes near. */
  const sight = useRef({ isNear: false, isStale: false });
  const scheme = useScheme();
  const { isShare = false } = bounds;
  const drawn = others.map((one) => one.curve);
  const {
    columns: data,
    digits,
    steps,
    further,
  } = useMemo(
    () => drawnOf(curve, drawn, bounds, isLog),
    // Compares the overlaid runs one by one: their list is a new object each time.
    // oxlint-disable-next-line react/exhaustive-deps
    [curve, bounds.low, bounds.high, isLog, drawn.length, ...drawn],
  );
  const [low, high] = digits === 0 ? limits : NO_LIMITS;
  const [isWhole, showWhole] = useState(false);
  const isFree = digits === 0 && low === null && high === null;
  const { axis, beyond } = useMemo(
    () => {
      const fit = isFree ? fitOf(curve, drawn, bounds, isLog) : null;
      if (fit === null) return { axis: null, beyond: [] };
      const ends = rangeOf(...fit, bounds, isLog);
      return { axis: ends, beyond: beyondOf(curve, drawn, bounds, ends) };
    },
    // oxlint-disable-next-line react/exhaustive-deps
    [isFree, curve, bounds.low, bounds.high, isLog, drawn.length, ...drawn],
  );
  const far = beyond.map((one) => wordsOf(one, isShare));
  const ends: Ends | null = isWhole ? null : axis;
  const values = {
    current,
    data,
    digits,
    steps,
    further,
    bounds,
    open,
    hover,
    zoom,
    reach,
    onZoom,
    onDrawn,
    limits: [low, high] as const,
    ends,
    beyond: isWhole ? [] : beyond,
    valueAt: current === null ? null : ((curve.x ?? curve.steps)[nearest(curve.steps, current)] ?? null),
  };
  const now = useRef(values);
  now.current = values;
  const xOf = (step: number): number | null => {
    if (curve.x === undefined) return step;
    return curve.x[nearest(curve.steps, step)] ?? null;
  };
  const isZoomable = onZoom !== null;
  const place = useRef(xOf);
  place.current = xOf;
  const colours = [
    firmness(steps.length),
    colour,
    ...others.map((one) => `${one.colour}-${one.dash?.join(",") ?? ""}${one.curve?.hasBand === true ? "+" : ""}`),
  ].join(" ");

  // New data are drawn in this frame: an effect would run after it.
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = (width: number): uPlot =>
      new uPlot(
        optionsOf({
          width,
          height: isTall ? TALL_PX : HEIGHT_PX,
          inks: inksOf(
            element,
            colour,
            others.map((one) => one.colour),
            now.current.steps.length,
          ),
          digits: () => now.current.digits,
          isShare,
          withBand: others.flatMap(({ curve: one }, i) => (one?.hasBand === true ? [i] : [])),
          dashes: others.map((one) => one.dash ?? []),
          across,
          isZoomed: () => now.current.zoom !== null,
          range() {
            const { data: columns, zoom: chosen, reach: whole } = now.current;
            return chosen ?? whole ?? [columns[0][0] ?? 0, columns[0].at(-1) ?? 0];
          },
          onZoom: !isZoomable ? null : (range) => now.current.onZoom?.(range),
          current: () => (now.current.current === null ? null : place.current(now.current.current)),
          hover: (index) => now.current.hover(index === null ? null : (now.current.steps[index] ?? null)),
          isByPosition,
          isLog,
          ends: (least, most) =>
            now.current.ends === null
              ? rangeOf(least, most, now.current.bounds, isLog, now.current.limits)
              : [...now.current.ends],
          rowsOf: (other) => now.current.further[other] ?? [],
          dotAt: () => (isOfStep ? now.current.valueAt : null),
          beyond: () => now.current.beyond,
          drawn: (frame) => now.current.onDrawn?.(frame),
          open(index) {
            const step = now.current.steps[index];
            if (step === undefined || isByPosition) return;
            if (now.current.open === undefined) session.steps.goNear(step);
            else now.current.open(step);
          },
        }),
        now.current.data,
        element,
      );
    const forget = watch(element, (width, isNear) => {
      const { isStale } = sight.current;
      sight.current = { isNear, isStale: isStale && !isNear };
      if (!isNear) return;
      if (plot.current === null) plot.current = made(width);
      else {
        if (width !== plot.current.width) plot.current.setSize({ width, height: plot.current.height });
        if (isStale) plot.current.setData(now.current.data);
      }
    });
    return () => {
      forget();
      plot.current?.destroy();
      plot.current = null;
    };
    // New colours, as of an added run, rebuild the chart; new data and another step only redraw it.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scheme, colours, isLog, isShare, across, isZoomable]);

  const range = (zoom ?? reach)?.join(" ");
  const height = ends?.join(" ");
  const draw = (change: (chart: uPlot) => void): void => {
    if (!sight.current.isNear) sight.current.isStale = true;
    else if (plot.current !== null) change(plot.current);
  };
  useLayoutEffect(() => draw((chart) => chart.setData(data)), [data, range, low, high, height]);
  useEffect(() => {
    const chart = plot.current;
    const { idx } = chart?.cursor ?? {};
    if (chart === null || (typeof idx === "number" && now.current.steps[idx] === pointed)) return;
    const x = pointed === null ? null : place.current(pointed);
    chart.setCursor({ left: x === null ? -10 : chart.valToPos(x, "x"), top: 0 }, false);
  }, [pointed]);
  useEffect(() => draw((chart) => chart.redraw(false)), [current]);

  return (
    <div class={style["whole"]}>
      <div
        ref={host}
        class={`${style["chart"]} ${isByPosition ? style["still"] : ""}`}
        style={isTall ? { height: `${TALL_PX}px` } : undefined}
        role="img"
        aria-label={words(what, curve, isByPosition, isShare)}
      />
      {beyond.length > 0 && (
        <button
          type="button"
          class={`action ${style["beyond"]}`}
          title={
            isWhole
              ? "Fit the axis to the other points"
              : `${far.join(", ")}. Off the axis, which fits the other points: press to show all`
          }
          onClick={() => showWhole(!isWhole)}
        >
          {isWhole ? "Fit to the other points" : beyond.map((one) => <Far key={one.to} of={one} isShare={isShare} />)}
        </button>
      )}
    </div>
  );
}

const ARROWS = ["▼", "▲"] as const;

/** How far points lie beyond an end of the axis; for screen readers, also how many. */
function Far({ of, isShare }: { of: Beyond; isShare: boolean }) {
  const [whole, value] = [wordsOf(of, isShare), wordsOfValues(isShare)(of.to)];
  return (
    <>
      {`${ARROWS[Number(of.isAbove)]} `}
      <span class="hidden">{whole.slice(0, -value.length)}</span>
      {`${value} `}
    </>
  );
}

function words(what: string, { steps, mean }: Curve, isByPosition: boolean, isShare: boolean): string {
  const means = mean.map(finite).filter((one) => one !== null);
  const [first = null, last = null] = [means[0], means.at(-1)];
  const write = wordsOfValues(isShare);
  const range = `from ${write(first, "none")} to ${write(last, "none")}`;
  const across = isByPosition ? `${figure(steps.at(-1) ?? 0)} positions` : count(steps.length, "step");
  return sentence(`${what} over ${across}: ${range}`);
}
