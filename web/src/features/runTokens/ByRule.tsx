/**
 * The tokens that each rule takes out of the loss, by step: shares of the trained tokens on either side, and the share
 * of the update.
 */

import { useMemo, useState } from "preact/hooks";
import { askTokenMasks } from "../../api";
import type { MaskSteps, WireNumber } from "../../api/types.gen";
import { figure, toNumber } from "../../lib/numbers/numbers";
import { percent } from "../../lib/numbers/percent";
import { useSession } from "../../state/useSession";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { type Curve, CurveChart } from "../charts";
import { Lines } from "./Lines";
import { useAnswer } from "./scope";
import style from "./RunTokens.module.css";

const [OUT, UP, DOWN, LOST] = [1, 3, 4, 2];

export function ByRule() {
  const loaded = useAnswer(["masks"], (id, split) => askTokenMasks(id, { split }));
  const reply = loaded.value;
  return (
    <section aria-labelledby="tokens-by-rule">
      <div class={style["heading"]}>
        <h2 id="tokens-by-rule">By rule</h2>
        <small>the share of the trained tokens that each rule masks or clips</small>
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && reply.rules.length === 0 && (
        <p class="quiet">
          No rule applies: rules need the logprobs of the trainer beside those of sampling, and advantages.
        </p>
      )}
      <div class={style["charts"]}>
        {reply?.rules.map((rule) => (
          <Rule key={rule.rule} rule={rule} />
        ))}
      </div>
    </section>
  );
}

function Rule({ rule }: { rule: MaskSteps }) {
  const session = useSession();
  const [pointed, point] = useState<number | null>(null);
  const step = pointed ?? session.place.field.step.value;
  const at = step === null ? -1 : rule.steps.indexOf(step);
  const curves = useMemo(() => {
    const plain = (values: readonly WireNumber[]): Curve => ({
      steps: rule.steps,
      mean: values,
      smooth: values,
      std: [],
    });
    return [rule.masked, rule.high, rule.low, rule.update_lost].map(plain);
  }, [rule]);
  const [masked, high, low, lost] = curves;
  const share = (values: readonly WireNumber[]): string => {
    const value = toNumber(values[at]);
    return value === null ? "–" : percent(value);
  };
  const thresholds = Object.entries(rule.thresholds).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
  const here = at < 0 ? [] : [`step ${figure(step)}`];
  if (masked === undefined || high === undefined || low === undefined || lost === undefined) return null;
  return (
    <figure aria-label={rule.title}>
      <figcaption>
        <b>{rule.title}</b>{" "}
        <small>{[...thresholds, ...(rule.is_of_run ? ["the run's"] : []), ...here].join(" · ")}</small>
        <Lines
          lines={[
            { label: "masked", colour: OUT, value: share(rule.masked) },
            { label: "moved up", colour: UP, value: share(rule.high) },
            { label: "moved down", colour: DOWN, value: share(rule.low) },
            { label: "of the update", colour: LOST, value: share(rule.update_lost) },
          ]}
        />
      </figcaption>
      {rule.masked.every((one) => one === 0) ? (
        <p class="quiet">This rule masks no token at any step.</p>
      ) : (
        rule.steps.length > 1 && (
          <CurveChart
            what={`share of tokens masked by ${rule.title}`}
            curve={masked}
            colour={OUT}
            others={[
              { curve: high, colour: UP },
              { curve: low, colour: DOWN },
              { curve: lost, colour: LOST },
            ]}
            current={session.place.field.step.value}
            hover={point}
          />
        )
      )}
    </figure>
  );
}
