/** The reasons for discarding samples: shares by step, and counts over the run and at this step. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import { askDiscards } from "../../api";
import { bars, isOfEqualRewards, meaningOf, percent, summed, type Bar } from "../../lib/sample/discardReasons";
import { condition, narrowed } from "../../lib/list/filter";
import { count, figure } from "../../lib/numbers/numbers";
import { Failure } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { useLoaded } from "../../ui/hooks/useLoaded";
import style from "./Discarded.module.css";

const MOST_BARS = 120;
const COLOURS = 9;

export function Reasons() {
  const session = useSession();
  const split = session.place.field.split.value;
  const step = session.place.field.step.value;
  const id = session.run.now.value?.id ?? "";
  const reply = session.steps.reply.value;
  const loaded = useLoaded(
    reply === null || split === null ? null : `${id}\n${split}\n${reply.version}`,
    () => askDiscards(id, { split: split ?? "" }),
    `${id}\n${split}`,
  );
  if (loaded.error !== null) return <Failure error={loaded.error} what="The reasons" again={loaded.again} />;
  if (loaded.value === null || reply === null || loaded.value.steps.length === 0) return null;
  const { reasons, generated, generatedHere } = summed(loaded.value, reply, step);
  const names = reasons.map(({ reason }) => reason);
  const discarded = reasons.reduce((sum, one) => sum + one.samples, 0);
  return (
    <section class={style["reasons"]} aria-label="Reasons">
      <h2>
        Discarded{" "}
        <small>
          {percent(discarded, generated)} of {count(generated, "sample")} generated
        </small>
      </h2>
      <Chart bars={bars(loaded.value, reply, names, MOST_BARS)} names={names} current={step} />
      <table class={style["table"]}>
        <thead>
          <tr>
            <th scope="col">reason</th>
            <th scope="col">step {figure(step)}</th>
            <th scope="col">run</th>
          </tr>
        </thead>
        <tbody>
          {reasons.map(({ reason, samples, here, unfinished, atZero, aboveZero, groups }, i) => (
            <tr key={reason}>
              <th scope="row">
                <i class={style["swatch"]} style={{ background: colour(i) }} />
                <a class={style["go"]} {...to(session, reason, "run")} title="All samples of the run with this reason">
                  <Text text={reason} />
                </a>
                {meaningOf(reason) !== "" && <small>{meaningOf(reason)}</small>}
                {isOfEqualRewards(reason) && atZero + aboveZero > 0 && (
                  <small>
                    <a
                      class={style["go"]}
                      {...to(session, reason, "run", "reward = 0")}
                      title="Groups whose rewards are all 0"
                    >
                      {figure(atZero)} all = 0
                    </a>
                    {", "}
                    <a
                      class={style["go"]}
                      {...to(session, reason, "run", "reward > 0")}
                      title="Groups whose rewards are equal and above 0"
                    >
                      {figure(aboveZero)} all &gt; 0
                    </a>
                  </small>
                )}
                {unfinished > 0 && (
                  <small>
                    {unfinished === samples ? "all without an answer" : `${figure(unfinished)} without an answer`}
                  </small>
                )}
              </th>
              <td>
                {here > 0 ? (
                  <a class={style["go"]} {...to(session, reason, "step")} title="Show those of this step">
                    {figure(here)}
                  </a>
                ) : (
                  figure(here)
                )}{" "}
                <small>{percent(here, generatedHere)}</small>
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

/** A link to the samples discarded for a reason, or to those of them that match a filter. */
function to(session: Session, reason: string, extent: "step" | "run", where = "") {
  const change = {
    discarded: true,
    extent,
    where: narrowed(where, condition("discarded", "=", reason, false)),
    sample: null,
    list: true,
  };
  return { href: session.place.href(change), onClick: session.place.onLink(change) };
}

const colour = (number: number): string => `var(--run-${(number % COLOURS) + 2})`;

const HEIGHT = 72;

/** Bars for the mouse; the keyboard has the steps, and the table has the numbers. */
function Chart({
  bars: all,
  names,
  current,
}: {
  bars: readonly Bar[];
  names: readonly string[];
  current: number | null;
}) {
  const session = useSession();
  const highest = Math.max(0.01, ...all.map(({ shares }) => shares.reduce((sum, share) => sum + share, 0)));
  return (
    <svg
      class={style["chart"]}
      viewBox={`0 0 ${all.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Share of generated samples that were discarded, by step, up to ${percent(highest, 1)}`}
    >
      {all.map((bar, at) => {
        let top = HEIGHT;
        const isHere = current !== null && bar.first <= current && current <= bar.last;
        return (
          <g key={bar.first} onClick={() => session.place.go({ step: isHere ? current : bar.first })}>
            <title>{described(bar, names)}</title>
            <rect class={isHere ? style["here"] : style["back"]} x={at} y={0} width={1} height={HEIGHT} />
            {bar.shares.map((share, i) => {
              const height = (share / highest) * (HEIGHT - 4);
              top -= height;
              return (
                <rect key={names[i]} x={at + 0.08} y={top} width={0.84} height={height} style={{ fill: colour(i) }} />
              );
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
