/** A series by position in the response, at the current step and at the step it is compared with. */

import { useMemo, useState } from "preact/hooks";
import { askTokenPositions } from "../../api";
import type { RunSeries, RunTokenPositions } from "../../api/types.gen";
import { figure, score } from "../../lib/numbers/numbers";
import { colourOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { type Curve, CurveChart } from "../charts";
import { besides, Lines } from "./Lines";
import { otherStep, useAnswer } from "./scope";
import style from "./RunTokens.module.css";

export function ByPosition({ series }: { series: RunSeries }) {
  const session = useSession();
  const run = session.run.now.value;
  const step = session.place.field.step.value;
  const other = otherStep(session)?.step ?? null;
  const here = usePositions(series.name, step);
  const beside = usePositions(series.name, other === step ? null : other);
  const [pointed, point] = useState<number | null>(null);
  const curve = useMemo(() => curveOf(here.value), [here.value]);
  const second = useMemo(() => curveOf(beside.value), [beside.value]);
  const colour = run === null ? 1 : colourOf(run.id);
  const at = (one: Curve | null): string =>
    pointed === null || one === null ? "" : score(one.mean[one.steps.findLastIndex((first) => first <= pointed)], "–");
  return (
    <section aria-labelledby="tokens-by-position">
      <div class={style["heading"]}>
        <h2 id="tokens-by-position">By position</h2>
        <small>
          mean over tokens (beyond position 64 a bucket holds several positions); position 1 is the first trained token
        </small>
      </div>
      {here.error !== null && <Missing error={here.error} again={here.again} />}
      {here.value !== null && <Coverage of={here.value.coverage} />}
      {here.value !== null && curve === null && <p class="quiet">Step {figure(step)} has no value.</p>}
      {curve !== null && (
        <figure>
          <figcaption>
            <Lines
              lines={[
                { label: `step ${figure(step)}`, colour, value: at(curve) },
                ...(second === null
                  ? []
                  : [{ label: `step ${figure(other)}`, colour: besides(colour), value: at(second) }]),
              ]}
            />
            {pointed !== null && <small> at position {figure(pointed)}</small>}
          </figcaption>
          <CurveChart
            what={`${series.title} at step ${figure(step)}`}
            curve={curve}
            colour={colour}
            others={second === null ? [] : [{ curve: second, colour: besides(colour) }]}
            current={null}
            hover={point}
            isByPosition
          />
        </figure>
      )}
    </section>
  );
}

const usePositions = (series: string, step: number | null) =>
  useAnswer(step === null ? null : ["positions", series, step], (id, split) =>
    askTokenPositions(id, { split, series, step: step ?? 0 }),
  );

/** The curve of a step; null without a value. Positions begin at 1. */
function curveOf(reply: RunTokenPositions | null): Curve | null {
  if (reply === null || reply.first.length === 0) return null;
  return { steps: reply.first.map((first) => first + 1), mean: reply.means, smooth: reply.means, std: [] };
}
