/** A series by step: the mean with a band of percentiles, and the extremes. A press goes to a step. */

import { useMemo, useState } from "preact/hooks";
import { askTokenSteps } from "../../api";
import type { RunSeries, RunTokenSteps, WireNumber } from "../../api/types.gen";
import { spanFor, USUAL_SPAN } from "../../lib/charts/chart";
import { figure, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { colourOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { averageOf, type Curve, CurveChart } from "../charts";
import { besides, Lines } from "./Lines";
import { option, setOption, useAnswer } from "./scope";
import style from "./RunTokens.module.css";

const MEANS = [
  { value: "", label: "tokens", title: "Every token counts alike" },
  { value: "samples", label: "samples", title: "Every sample counts alike, however long it is" },
] as const;

export function ByStep({ series }: { series: RunSeries }) {
  const session = useSession();
  const run = session.run.now.value;
  const loaded = useAnswer(["steps", series.name], (id, split) => askTokenSteps(id, { split, series: series.name }));
  const reply = loaded.value;
  const [pointed, point] = useState<number | null>(null);
  const of = option(session, "mean") === "samples" ? "samples" : "";
  const curves = useMemo(() => (reply === null ? null : curvesOf(reply, of === "samples")), [reply, of]);
  const step = pointed ?? session.place.field.step.value;
  const at = step === null ? -1 : (reply?.steps.indexOf(step) ?? -1);
  const title = harmless(series.title);
  const colour = run === null ? 1 : colourOf(run.id);
  const span = spanFor(USUAL_SPAN, reply?.steps.length ?? 0);
  const shared = { current: session.place.field.step.value, hover: point };
  return (
    <section aria-labelledby="tokens-by-step">
      <div class={style["heading"]}>
        <h2 id="tokens-by-step">By step</h2>
        <span class={style["choice"]}>
          mean over
          <Segments label="Mean over" options={MEANS} value={of} choose={(mean) => setOption(session, { mean })} />
        </span>
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && curves !== null && reply.steps.length > 0 && (
        <>
          {reply.steps.length > 1 && (
            <div class={style["charts"]}>
              <figure>
                <figcaption>
                  {title}{" "}
                  <small>
                    mean, with percentiles 10 to 90
                    {span === 0 ? "" : `; thick line: EMA ${span}`}
                  </small>
                </figcaption>
                <CurveChart what={`mean ${series.title}`} curve={curves.mean} colour={colour} others={[]} {...shared} />
              </figure>
              <figure>
                <figcaption>
                  <Lines
                    lines={[
                      { label: "highest value", colour },
                      { label: "lowest value", colour: besides(colour) },
                    ]}
                  />
                </figcaption>
                <CurveChart
                  what={`highest value of ${series.title}`}
                  curve={curves.most}
                  colour={colour}
                  others={[{ curve: curves.least, colour: besides(colour) }]}
                  {...shared}
                />
              </figure>
            </div>
          )}
          <Figures reply={reply} at={at} step={step} />
        </>
      )}
    </section>
  );
}

function curvesOf(reply: RunTokenSteps, isOfSamples: boolean): { mean: Curve; most: Curve; least: Curve } {
  const { steps, p10, p90 } = reply;
  const mean = isOfSamples ? reply.sample_mean : reply.mean;
  const plain = (values: readonly WireNumber[]): Curve => ({ steps, mean: values, smooth: values, std: [] });
  return {
    mean: {
      steps,
      mean,
      smooth: averageOf(steps, mean),
      std: [],
      edges: { low: p10, high: p90 },
    },
    most: plain(reply.max),
    least: plain(reply.min),
  };
}

/** All figures of one step. */
function Figures({ reply, at, step }: { reply: RunTokenSteps; at: number; step: number | null }) {
  if (at < 0) return <p class="quiet">Step {figure(step)} has no value.</p>;
  const figures: [string, WireNumber | undefined][] = [
    ["mean over tokens", reply.mean[at]],
    ["mean over samples", reply.sample_mean[at]],
    ["lowest", reply.min[at]],
    ["10%", reply.p10[at]],
    ["median", reply.p50[at]],
    ["90%", reply.p90[at]],
    ["highest", reply.max[at]],
  ];
  const infinite = reply.infinite[at] ?? 0;
  return (
    <dl class={style["figures"]} aria-label={`Step ${figure(step)}`}>
      <div>
        <dt>step</dt>
        <dd>{figure(step)}</dd>
      </div>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{score(value, "–")}</dd>
        </div>
      ))}
      <div>
        <dt>tokens</dt>
        <dd>{figure(reply.tokens[at])}</dd>
      </div>
      <div>
        <dt>samples with tokens</dt>
        <dd>{figure(reply.samples[at])}</dd>
      </div>
      {infinite > 0 && (
        <div>
          <dt>infinite, not counted</dt>
          <dd>{figure(infinite)}</dd>
        </div>
      )}
    </dl>
  );
}
