/** Why samples were not trained on: shares by step, and counts by reason over the run and at this step. */

import { getDiscards } from "../../api";
import { bars, percent, summed, type Bar } from "../../lib/discards";
import { condition } from "../../lib/filter";
import { count, figure } from "../../lib/numbers";
import { field, go, href, onLink } from "../../state/place";
import { run } from "../../state/runs";
import { steps } from "../../state/steps";
import { Failure } from "../../ui/State";
import { Text } from "../../ui/Text";
import { useLoaded } from "../../ui/useLoaded";
import style from "./Discarded.module.css";

const MOST_BARS = 120;
const COLOURS = 9;

export function Reasons() {
  const split = field.split.value;
  const step = field.step.value;
  const id = run.value?.id ?? "";
  const known = steps.value;
  const found = useLoaded(known === null || split === null ? null : `${id}\n${split}\n${known.version}`, () => getDiscards(id, split ?? ""), `${id}\n${split}`);
  if (found.error !== null) return <Failure error={found.error} what="The reasons" again={found.again} />;
  if (found.value === null || known === null || found.value.steps.length === 0) return null;
  const { reasons, generated, generatedHere } = summed(found.value, known, step);
  const names = reasons.map(({ reason }) => reason);
  const gone = reasons.reduce((sum, one) => sum + one.samples, 0);
  return (
    <section class={style["reasons"]} aria-label="Reasons">
      <h2>
        Discarded <small>{percent(gone, generated)} of {count(generated, "sample")} generated</small>
      </h2>
      <Chart bars={bars(found.value, known, names, MOST_BARS)} names={names} current={step} />
      <table class={style["table"]}>
        <thead>
          <tr>
            <th scope="col">reason</th>
            <th scope="col">step {figure(step)}</th>
            <th scope="col">run</th>
          </tr>
        </thead>
        <tbody>
          {reasons.map(({ reason, samples, here, unfinished, groups }, i) => (
            <tr key={reason}>
              <th scope="row">
                <i class={style["swatch"]} style={{ background: colour(i) }} />
                <a class={style["go"]} {...to(reason, "run")} title="All samples of the run with this reason"><Text text={reason} /></a>
                {unfinished > 0 && <small>{unfinished === samples ? "cancelled or failed: no answer to read" : `${figure(unfinished)} without an answer`}</small>}
              </th>
              <td>
                {here > 0 ? <a class={style["go"]} {...to(reason, "step")} title="Those of this step">{figure(here)}</a> : figure(here)} <small>{percent(here, generatedHere)}</small>
              </td>
              <td title={count(groups, "group")}>
                {figure(samples)} <small>{percent(samples, generated)}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A link to what was discarded for a reason. */
function to(reason: string, extent: "step" | "run") {
  const change = { discarded: true, extent, where: condition("discarded", "=", reason, false), sample: null, list: true };
  return { href: href(change), onClick: onLink(change) };
}

const colour = (number: number): string => `var(--run-${(number % COLOURS) + 2})`;

const HEIGHT = 72;

/** Bars that a mouse can go to; the steps themselves are reached by keys, and the numbers stand in the table. */
function Chart({ bars: all, names, current }: { bars: readonly Bar[]; names: readonly string[]; current: number | null }) {
  const highest = Math.max(0.01, ...all.map(({ shares }) => shares.reduce((sum, share) => sum + share, 0)));
  return (
    <svg class={style["chart"]} viewBox={`0 0 ${all.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Share of what was generated that was discarded, by step, up to ${percent(highest, 1)}`}>
      {all.map((bar, at) => {
        let top = HEIGHT;
        const isHere = current !== null && bar.first <= current && current <= bar.last;
        return (
          <g key={bar.first} onClick={() => go({ step: isHere ? current : bar.first })}>
            <title>{described(bar, names)}</title>
            <rect class={isHere ? style["here"] : style["back"]} x={at} y={0} width={1} height={HEIGHT} />
            {bar.shares.map((share, i) => {
              const height = (share / highest) * (HEIGHT - 4);
              top -= height;
              return <rect key={names[i]} x={at + 0.08} y={top} width={0.84} height={height} style={{ fill: colour(i) }} />;
            })}
          </g>
        );
      })}
    </svg>
  );
}

function described({ first, last, shares }: Bar, names: readonly string[]): string {
  const where = first === last ? `Step ${figure(first)}` : `Steps ${figure(first)} to ${figure(last)}`;
  const parts = shares.flatMap((share, i) => (share > 0 ? [`${names[i]} ${percent(share, 1)}`] : []));
  return `${where}: ${parts.length === 0 ? "nothing discarded" : parts.join(", ")}`;
}
