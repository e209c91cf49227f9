/** The distribution of a number over the samples of the current step, in place of a curve with a single point. */

import { askStepValues } from "../../api";
import { filterOf } from "../../lib/distribution/distribution";
import { finite } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Histogram } from "./Histogram";
import { linkTo } from "./StepView";
import style from "./Distribution.module.css";

export function StepHistogram({ name, title }: { name: string; title: string }) {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const step = session.place.field.step.value;
  const loaded = useFollowed(
    run === null || split === null || step === null ? null : JSON.stringify([run.id, split, step, name]),
    run?.version ?? "",
    async () => askStepValues(run?.id ?? "", { split: split ?? "", step: step ?? 0, names: [name], also: [] }),
  );
  const reply = loaded.value;
  return (
    <div class={style["alone"]}>
      {reply !== null && (
        <Histogram
          edges={reply.edges}
          metrics={reply.metrics.filter(({ counts }) => counts.length > 0)}
          title={() => title}
          drawn={reply.samples.flatMap(({ values }) => values.map(finite))}
          values={[]}
          link={(metric, values) => linkTo(session, reply, { where: filterOf(metric, values) })}
          isSmall
        />
      )}
    </div>
  );
}
