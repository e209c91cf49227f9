/** The distribution of a metric by step: a column for each step, darker cells for more of its samples. */

import { labelOf } from "../../lib/charts/across";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DistributionReply } from "../../api/types.gen";
import { rangesOf, type Values } from "../../lib/distribution/distribution";
import {
  type Cell,
  cellAt,
  greatestIn,
  greatestShare,
  neighbourOf,
  padded,
  samplesAt,
  shadeOf,
  shareAt,
  wordsAt,
} from "../../lib/distribution/heatMap";
import { figure, score } from "../../lib/numbers/numbers";
import { useScheme } from "../../ui/hooks/useScheme";
import style from "./HeatMap.module.css";

interface Props {
  /** The title of the metric. */
  title: string;
  map: DistributionReply;
  /** The greatest value, if it is known. */
  most: number | null;
  /** The number of the run's colour. */
  colour: number;
  /** The step of the page. */
  current: number | null;
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
  open: (steps: readonly [number, number], values: Values) => void;
}

export function HeatMap({ title, map: given, most, colour, current, pointed, point, open }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useScheme();
  const [at, move] = useState<Cell | null>(null);
  const map = useMemo(() => padded(given), [given]);
  const bins = map.edges.length - 1;
  const top = greatestIn(given, most);
  const greatest = useMemo(() => greatestShare(map), [map]);
  useEffect(() => {
    const context = canvas.current?.getContext("2d") ?? null;
    if (canvas.current === null || context === null) return;
    paint(context, map, getComputedStyle(canvas.current).color);
  }, [map, colour, scheme]);
  const go = (cell: Cell | null): void => {
    move(cell);
    point(cell === null ? null : (map.first_steps[cell.column] ?? null));
  };
  const cellUnder = (event: MouseEvent): Cell | null => {
    const box = canvas.current?.getBoundingClientRect();
    return box === undefined
      ? null
      : cellAt(map, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  };
  const enter = (cell: Cell | null): void => {
    const values = cell === null ? undefined : rangesOf(map.edges)[cell.bin];
    if (cell === null || values === undefined) return;
    open([map.first_steps[cell.column] ?? 0, map.last_steps[cell.column] ?? 0], values);
  };
  const columnOf = (step: number | null): number =>
    step === null ? -1 : map.last_steps.findIndex((last, i) => last >= step && (map.first_steps[i] ?? 0) <= step);
  const column = at?.column ?? columnOf(pointed);
  const now = columnOf(current);
  return (
    <div class={style["map"]} style={{ color: `var(--run-${colour})` }}>
      <div
        class={style["cells"]}
        role="slider"
        tabIndex={0}
        aria-label={`Distribution of ${title} by step`}
        aria-valuemin={0}
        aria-valuemax={map.counts.length - 1}
        aria-valuenow={at?.column ?? 0}
        aria-valuetext={wordsAt(map, at ?? { column: 0, bin: 0 })}
        onPointerMove={(event) => go(cellUnder(event))}
        onPointerLeave={() => go(null)}
        onBlur={() => go(null)}
        onClick={(event) => enter(cellUnder(event))}
        onKeyDown={(event) => {
          const next = neighbourOf(map, at ?? { column: map.counts.length, bin: 0 }, event.key);
          if (event.key === "Enter") enter(at);
          else if (next === null) return;
          else go(next);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <canvas ref={canvas} width={map.counts.length} height={bins} />
        {now >= 0 && <i class={style["current"]} style={{ left: `${(100 * (now + 0.5)) / map.counts.length}%` }} />}
        {column >= 0 && (
          <i
            class={style["column"]}
            style={{ left: `${(100 * column) / map.counts.length}%`, width: `${100 / map.counts.length}%` }}
          />
        )}
        {at !== null && (
          <i
            class={style["cell"]}
            style={{
              left: `${(100 * at.column) / map.counts.length}%`,
              width: `${100 / map.counts.length}%`,
              bottom: `${(100 * at.bin) / bins}%`,
              height: `${100 / bins}%`,
            }}
          />
        )}
        {given.edges.length > 2 ? (
          <>
            <span class={style["high"]}>{score(top ?? map.edges.at(-1))}</span>
            <span class={style["low"]}>{score(map.edges[0])}</span>
          </>
        ) : (
          <span class={style["only"]}>{score(top ?? given.edges[0])}</span>
        )}
      </div>
      <p class={style["steps"]} aria-hidden="true">
        <span>{labelOf("step", map.first_steps[0] ?? 0)}</span>
        {at === null ? <Scale greatest={greatest} colour={colour} /> : <span class="clip">{samplesAt(map, at)}</span>}
        <span>{labelOf("step", map.last_steps.at(-1) ?? 0)}</span>
      </p>
    </div>
  );
}

const SCALE_STEPS = 8;

/** The legend: the share of a step's samples for each shade. */
function Scale({ greatest, colour }: { greatest: number; colour: number }) {
  const shares = Array.from({ length: SCALE_STEPS + 1 }, (_, i) => (greatest * i) / SCALE_STEPS);
  const ink = `var(--run-${colour})`;
  const shades = shares.map((share) => `color-mix(in srgb, ${ink} ${100 * shadeOf(share)}%, transparent)`);
  return (
    <span class={style["scale"]} title="Share of the samples of a step that have the value">
      share 0
      <i style={{ backgroundImage: `linear-gradient(to right, ${shades.join(", ")})` }} />
      {figure(Math.round(100 * greatest))}%
    </span>
  );
}

/** One pixel for each cell; the browser scales the picture without smoothing it. */
function paint(context: CanvasRenderingContext2D, map: DistributionReply, ink: string): void {
  const bins = map.edges.length - 1;
  context.clearRect(0, 0, map.counts.length, bins);
  context.fillStyle = ink;
  for (let column = 0; column < map.counts.length; column++)
    for (let bin = 0; bin < bins; bin++) {
      context.globalAlpha = shadeOf(shareAt(map, { column, bin }));
      context.fillRect(column, bins - 1 - bin, 1, 1);
    }
}
