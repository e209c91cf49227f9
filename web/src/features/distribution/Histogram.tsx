/** The number of samples of a step by value: a bar for each range, the normal curve, and a line for each sample. */

import type { Stats, MetricAtStep } from "../../api/types.gen";
import { drawnEdges, normalCurve, rangesOf, type Values, wordsOf } from "../../lib/distribution/distribution";
import { count, finite, score } from "../../lib/numbers/numbers";
import { useRoving } from "../../ui/hooks/useRoving";
import { ValueAxis } from "./ValueAxis";
import style from "./Distribution.module.css";

interface Props {
  edges: readonly number[];
  metrics: readonly MetricAtStep[];
  title: (name: string) => string;
  /** The values that are known of all metrics: they tell whole numbers. */
  drawn: readonly (number | null)[];
  /** The values of the first metric, for the lines at the foot. */
  values: readonly (number | null)[];
  /** The address of the samples with a metric in a range, and the way there. */
  link: (name: string, values: Values) => { href: string; onClick: (event: MouseEvent) => void };
  /** True for bars with only the two ends of the axis, as high as a chart of the side pane. */
  isSmall?: boolean;
}

/** Below more bars, their values would have no room. */
const MOST_VALUES = 4;

export function Histogram({ edges, metrics, title, drawn, values, link, isSmall = false }: Props) {
  const linkAt = useRoving();
  const ranges = rangesOf(edges);
  const { ends, areInMiddle } = drawnEdges(edges, drawn);
  const areAllNamed = areInMiddle && ranges.length <= MOST_VALUES;
  const all: Values = { low: ends[0] ?? 0, high: ends.at(-1) ?? 1 };
  const most = Math.max(1, ...metrics.flatMap(({ counts }) => counts));
  const across = (value: number): number => (value - all.low) / (all.high - all.low);
  if (metrics.length === 0 || ranges.length === 0) return null;
  return (
    <figure class={`${style["plot"]} ${isSmall ? style["small"] : ""}`} aria-label="Histogram">
      {!isSmall && <p class={style["axis"]}>samples · line: normal curve of the same mean and std</p>}
      <div class={style["framed"]}>
        <ValueAxis range={{ low: 0, high: most }} areWhole />
        <div class={style["bins"]} data-row>
          {ranges.map((range, bin) => (
            <div
              key={bin}
              class={style["bin"]}
              title={[
                wordsOf(range),
                ...metrics.map((metric) => `${title(metric.name)}: ${samplesIn(metric, bin)}`),
              ].join("\n")}
            >
              {metrics.map((metric, at) => (
                <a
                  key={metric.name}
                  {...linkAt(at * ranges.length + bin)}
                  {...link(metric.name, range)}
                  aria-label={`${samplesIn(metric, bin)} with ${title(metric.name)} from ${wordsOf(range)}`}
                >
                  <i
                    class={style[at === 0 ? "own" : "other"]}
                    style={{ height: `${(100 * (metric.counts[bin] ?? 0)) / most}%` }}
                  />
                </a>
              ))}
            </div>
          ))}
          <svg class={style["curves"]} viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
            {(isSmall ? [] : metrics).map((metric, at) => (
              <path
                key={metric.name}
                class={style[at === 0 ? "own" : "other"]}
                d={pathOf(momentsOf(metric.stats), all, (all.high - all.low) / ranges.length, most, across)}
              />
            ))}
          </svg>
        </div>
      </div>
      <div class={style["framed"]}>
        <svg class={style["rug"]} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          {values.map(
            (value, at) =>
              value !== null && <line key={at} x1={100 * across(value)} x2={100 * across(value)} y1={0} y2={1} />,
          )}
        </svg>
        <p class={style["axis"]} aria-hidden="true">
          {areAllNamed ? (
            ranges.map((_, bin) => (
              <span key={bin} class={style["middle"]}>
                {score(((ends[bin] ?? 0) + (ends[bin + 1] ?? 0)) / 2)}
              </span>
            ))
          ) : (
            <>
              <span>{score(all.low)}</span>
              <span>{score(all.high)}</span>
            </>
          )}
        </p>
      </div>
    </figure>
  );
}

const samplesIn = ({ counts }: MetricAtStep, bin: number): string => count(counts[bin] ?? 0, "sample");

const momentsOf = ({ mean, std, count: samples }: Stats) => ({
  mean: finite(mean) ?? 0,
  std: finite(std) ?? 0,
  count: samples,
});

function pathOf(
  moments: { mean: number; std: number; count: number },
  all: Values,
  width: number,
  most: number,
  across: (value: number) => number,
): string {
  const points = normalCurve(moments, all, width).map(
    ([x, y]) => `${(100 * across(x)).toFixed(2)} ${(100 - (100 * y) / most).toFixed(2)}`,
  );
  return points.length === 0 ? "" : `M${points.join("L")}`;
}
