/** One evaluation by step: its score, and pass@k and pass^k, as lines and as a table. */

import { useSession } from "../../state/useSession";
import { useRef, useEffect } from "preact/hooks";
import type { EvalSummary, WireNumber } from "../../api/types.gen";
import { line } from "./gridCells";
import { count, figure, finite, score } from "../../lib/numbers/numbers";
import { Text } from "../../ui/text/Text";
import { useEdges } from "../../ui/hooks/useEdges";
import { Judge } from "./Judge";
import style from "./Evals.module.css";

/** All evaluations side by side. */
export function AllScores({ evals }: { evals: readonly EvalSummary[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  useEdges(scroller);
  return (
    <div class={style["scores"]} ref={scroller}>
      {evals.map((one) => (
        <Scores key={one.split} of={one} />
      ))}
    </div>
  );
}

function Scores({ of }: { of: EvalSummary }) {
  const session = useSession();
  const { split, metric, ks, steps } = of;
  const scroller = useRef<HTMLDivElement>(null);
  useEdges(scroller);
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight; // the newest step
  }, [split, steps.length]);
  const several = ks.filter((k) => k > 1);
  const without = steps.reduce((sum, step) => sum + step.without, 0);
  return (
    <section class={style["eval"]} aria-label={split}>
      <h2>
        <Text text={split.replace(/^eval\//, "")} />
      </h2>
      <Judge of={of} />
      <Lines of={of} />
      <div class={style["tall"]} ref={scroller} tabIndex={0} role="region" aria-label={`${split} by step`}>
        <table class={style["table"]}>
          <thead>
            <tr>
              <th scope="col">step</th>
              <th scope="col" title={`Mean ${metric}`}>
                score
              </th>
              {ks.map((k) => (
                <th key={k} scope="col" title={`Probability that at least one of ${k} answers is correct`}>
                  pass@{k}
                </th>
              ))}
              {several.map((k) => (
                <th key={k} scope="col" title={`Probability that all ${k} answers are correct`}>
                  pass^{k}
                </th>
              ))}
              <th scope="col">prompts</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step) => (
              <tr key={step.step}>
                <th scope="row">
                  <a
                    href={session.place.href({ page: "rollouts", discarded: false, split, step: step.step })}
                    onClick={session.place.onLink({ page: "rollouts", discarded: false, split, step: step.step })}
                  >
                    {figure(step.step)}
                  </a>
                </th>
                <td>{score(step.score, "–")}</td>
                {ks.map((k, i) => (
                  <Estimate
                    key={k}
                    value={step.pass_at[i] ?? null}
                    graded={step.prompts_at[i] ?? 0}
                    of={step.prompts}
                    k={k}
                  />
                ))}
                {several.map((k) => {
                  const i = ks.indexOf(k);
                  return (
                    <Estimate
                      key={k}
                      value={step.pass_all[i] ?? null}
                      graded={step.prompts_at[i] ?? 0}
                      of={step.prompts}
                      k={k}
                    />
                  );
                })}
                <td title={count(step.samples, "sample")}>
                  {figure(step.prompts)} <small>n {figure(step.samples)}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {without > 0 && (
        <p class="quiet">
          {count(without, "sample")} without a finite {metric}, not counted here
        </p>
      )}
    </section>
  );
}

/** A mean over only those prompts with at least k answers. */
function Estimate({ value, graded, of, k }: { value: WireNumber; graded: number; of: number; k: number }) {
  const isPart = graded < of && graded > 0;
  return (
    <td
      title={
        graded < of ? `${figure(graded)} of ${count(of, "prompt")} have at least ${count(k, "answer")}` : undefined
      }
    >
      {score(value, "–")}
      {isPart && <sup>*</sup>}
    </td>
  );
}

function Lines({ of: { ks, steps, split } }: { of: EvalSummary }) {
  const at = steps.map(({ step }) => step);
  // The largest k for which every step has an estimate: a line of one step would say nothing.
  const whole = ks.findLastIndex((_, i) => steps.every(({ pass_at }) => pass_at[i] !== null));
  const last = whole < 0 ? ks.length - 1 : whole;
  const k = ks[last] ?? 1;
  const lines = [
    { label: "pass@1", values: steps.map(({ pass_at }) => finite(pass_at[ks.indexOf(1)])), kind: "one" },
    ...(k > 1
      ? [
          { label: `pass@${k}`, values: steps.map(({ pass_at }) => finite(pass_at[last])), kind: "some" },
          { label: `pass^${k}`, values: steps.map(({ pass_all }) => finite(pass_all[last])), kind: "every" },
        ]
      : []),
  ];
  const labels = lines.map(({ label }) => label).join(", ");
  return (
    <figure class={style["lines"]}>
      {at.length > 1 && (
        <>
          <small class={style["axis"]} aria-hidden="true">
            <span>1</span>
            <span>0</span>
          </small>
          <svg
            viewBox="0 -0.04 1 1.08"
            preserveAspectRatio="none"
            role="img"
            aria-label={`${labels} of ${split} by step, from 0 to 1; the table lists the numbers`}
          >
            {[0, 0.5, 1].map((y) => (
              <path key={y} class={style["rule"]} d={`M0 ${y}H1`} />
            ))}
            {lines.map(({ label, values, kind }) => (
              <path key={label} class={style[kind]} d={line(values, at)} />
            ))}
          </svg>
          <small class={style["steps"]} aria-hidden="true">
            <span>{figure(at[0] ?? 0)}</span>
            <span>step</span>
            <span>{figure(at.at(-1) ?? 0)}</span>
          </small>
        </>
      )}
      <figcaption>
        {lines.map(({ label, values, kind }) => (
          <span key={label}>
            <i class={style[kind]} /> {label} <b>{score(values.at(-1) ?? null, "–")}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
