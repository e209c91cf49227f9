/** How a sample metric is distributed at each step, in the place of its curve. */

import { getDistribution } from "../../../api/distributions";
import { filterOf } from "../../../lib/distribution/distribution";
import type { Placed } from "../../../lib/charts/layout";
import { finite } from "../../../lib/numbers/numbers";
import { colourOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { Missing } from "../../../ui/layout/EmptyState";
import { HeatMap } from "../../distribution";
import { askedOf } from "../choice";
import { both, splitOf, whereOf } from "../filter/filter";
import style from "../Metrics.module.css";

/** With more steps, neighbours share a column. */
const COLUMNS = 240;

interface Props {
  entry: Placed;
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
}

export function DistributionChart({ entry, pointed, point }: Props) {
  const session = useSession();
  const run = session.run.now.value;
  const asked = askedOf(session, entry.chart);
  const split = splitOf(asked, session.place.field.split.value ?? "");
  const where = whereOf(asked);
  const loaded = useFollowed(run === null ? null : JSON.stringify([run.id, split, where]), run?.version ?? "", () =>
    getDistribution(run?.id ?? "", { name: entry.name, split, where, columns: COLUMNS }),
  );
  if (loaded.error !== null) return <Missing error={loaded.error} again={loaded.again} />;
  if (loaded.value === null || run === null)
    return (
      <p class={style["empty"]}>
        <span class={style["loading"]}>Loading …</span>
      </p>
    );
  if (loaded.value.counts.length === 0) return <p class={style["empty"]}>No step has this number.</p>;
  return (
    <HeatMap
      title={entry.title}
      map={loaded.value}
      most={finite(entry.high)}
      colour={colourOf(run.id)}
      current={session.place.field.step.value}
      pointed={pointed}
      point={point}
      open={([first, last], values) =>
        session.place.go({
          page: "rollouts",
          discarded: false,
          split,
          step: first,
          extent: first === last ? "step" : [first, last],
          where: both(where, filterOf(entry.name, values)),
          sample: null,
        })
      }
    />
  );
}
