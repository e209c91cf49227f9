/** A number of the samples by step, chosen by the reader: the mean over what was trained on, and its spread. */

import { useState } from "preact/hooks";
import { getCurve } from "../../api";
import type { CurveReply } from "../../api/types.gen";
import { figure, score } from "../../lib/numbers";
import { OF_TRAINER } from "../../lib/usualCharts";
import { columnOf, label, shortLabel } from "../../state/columns";
import { colourOf } from "../../state/marks";
import { overlaid } from "../../state/overlays";
import { field } from "../../state/place";
import { run } from "../../state/runs";
import { lastStep } from "../../state/steps";
import { harmless } from "../../lib/visible";
import { Text } from "../../ui/Text";
import { useLoaded } from "../../ui/useLoaded";
import { CurveChart } from "./CurveChart";
import { boundsOf } from "./curvesOf";
import style from "./Charts.module.css";

interface Props {
  name: string;
  /** Take it away, or put it before the one above it; null for the first. */
  remove: () => void;
  raise: (() => void) | null;
}

export function MetricChart({ name, remove, raise }: Props) {
  const own = run.value;
  const split = field.split.value;
  const step = field.step.value;
  const over = overlaid.value;
  const [pointed, point] = useState<number | null>(null);
  const ids = [own?.id ?? "", ...over.map(({ id }) => id)];
  const isOfTrainer = name.startsWith(OF_TRAINER);
  // The trainer's files are read whole each time: they are asked for with each step, not with each line.
  const isSlow = isOfTrainer && lastStep.value !== null;
  const versions = isSlow ? [lastStep.value] : [own?.version ?? "", ...over.map(({ version }) => version)];
  const what = JSON.stringify([ids, split, name]);
  // A run that has no such number is drawn over by none.
  const load = (): Promise<(CurveReply | null)[]> =>
    Promise.all(ids.map((id, i) => getCurve(id, split ?? "", name).catch((error: unknown) => {
      if (i === 0) throw error;
      return null;
    })));
  const found = useLoaded(own === null || (split === null && !isOfTrainer) ? null : `${what} ${versions.join(" ")}`, load, what);
  const curve = found.value?.[0] ?? null;
  const others = over.map(({ id }, i) => ({ curve: found.value?.[i + 1] ?? null, colour: colourOf(id) }));
  const at = curve === null ? -1 : curve.steps.indexOf(pointed ?? step ?? NaN);
  const words = isOfTrainer ? name.slice(OF_TRAINER.length) : label(name);
  const column = columnOf(name);
  const short = isOfTrainer ? words : shortLabel(name);
  const none = isOfTrainer ? "The trainer of this run logged no such metric." : "No sample of this run has such a number.";
  return (
    <section class={style["chart"]} aria-label={`${words} by step`}>
      <h3>
        <span class="clip" title={harmless(words)}><Text text={short} /></span> <small>{isOfTrainer ? "trainer" : name === "discarded" ? "share" : curve !== null && curve.steps.length === 1 ? "mean, one step" : "mean ± std"}{pointed === null ? "" : ` · step ${figure(pointed)}`}</small>
        <b>{at < 0 ? "" : score(curve?.mean[at], "none")}</b>
        <span class={style["tools"]}>
          {raise !== null && <button type="button" class="action" aria-label={`Move ${words} up`} title="Move up" onClick={raise}>↑</button>}
          <button type="button" class="action" aria-label={`Take ${words} away`} title="Take away" onClick={remove}>×</button>
        </span>
      </h3>
      {found.error !== null ? (
        <p class={style["empty"]}>{found.error.status === 400 ? none : found.error.message}</p>
      ) : curve === null || own === null ? (
        <p class={style["empty"]} />
      ) : curve.steps.length === 0 ? (
        <p class={style["empty"]}>No step has such a number.</p>
      ) : curve.steps.length === 1 && over.length === 0 ? null : (
        <CurveChart what={isOfTrainer ? words : `mean ${words}`} curve={curve} bounds={boundsOf(column?.low, column?.high)} colour={colourOf(own.id)} others={others} current={step} hover={point} />
      )}
    </section>
  );
}
