/** The distribution of a sample metric at each step, instead of its curve. */

import { getDistribution } from "../../../api/distributions";
import type { DistributionReply } from "../../../api/types.gen";
import { useEffect, useMemo } from "preact/hooks";
import { filterOf } from "../../../lib/distribution/distribution";
import { between, withoutOutliers } from "../../../lib/distribution/heatMap";
import type { Placed } from "../../../lib/charts/layout";
import { finite } from "../../../lib/numbers/numbers";
import { colourOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { Missing } from "../../../ui/layout/EmptyState";
import { HeatMap } from "../../distribution";
import { askedOf, xOf, zoomOf } from "../choice";
import { both, splitOf, whereOf } from "../filter/filter";
import { inRun } from "../parts/rollouts";
import { pointsOf } from "../points/points";
import { mappedRun } from "./mapped";
import style from "../Metrics.module.css";

/** With more steps, neighbours share a column. */
const COLUMNS = 240;

interface Props {
  entry: Placed;
  /** The step that the person points at, in any chart. */
  pointed: number | null;
  point: (step: number | null) => void;
  /** Called with the drawn distribution, and the number of samples that it leaves out, whenever they change. */
  onDrawn: (map: DistributionReply | null, leftOut: number) => void;
}

export function DistributionChart({ entry, pointed, point, onDrawn }: Props) {
  const session = useSession();
  const run = mappedRun(session);
  const asked = askedOf(session, entry.chart);
  const split = splitOf(asked, session.place.field.split.value ?? "");
  const where = whereOf(asked);
  const { outliers, skip_first, last } = pointsOf(asked);
  const first = run?.splits.find(({ name }) => name === split)?.first_step ?? null;
  const step_min = skip_first && first !== null ? first + 1 : undefined;
  const range = { step_min, step_max: last ?? undefined };
  const loaded = useFollowed(
    run === null ? null : JSON.stringify([run.id, split, where, range]),
    run?.version ?? "",
    () => getDistribution(run?.id ?? "", { name: entry.name, split, where, columns: COLUMNS, ...range }),
  );
  const whole = loaded.value;
  const [low = null, high = null] = (xOf(asked) === "" ? zoomOf(asked) : null) ?? [];
  const drawn = useMemo(
    () => whole && withoutOutliers(between(whole, low === null || high === null ? null : [low, high]), outliers),
    [whole, low, high, outliers],
  );
  const map = drawn?.map ?? null;
  useEffect(() => {
    onDrawn(map, drawn?.leftOut ?? 0);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [drawn]);
  if (loaded.error !== null) return <Missing error={loaded.error} again={loaded.again} />;
  if (map === null || run === null)
    return (
      <p class={style["empty"]}>
        <span class={style["loading"]}>Loading …</span>
      </p>
    );
  if (map.counts.length === 0) return <p class={style["empty"]}>No step has this number.</p>;
  return (
    <HeatMap
      title={entry.title}
      map={map}
      most={finite(entry.high)}
      colour={colourOf(run.id)}
      current={session.place.lateStep.value}
      pointed={pointed}
      point={point}
      open={([from, to], values) =>
        session.place.go({
          ...inRun(session, run.id),
          page: "rollouts",
          discarded: false,
          split,
          step: from,
          extent: from === to ? "step" : [from, to],
          where: both(where, filterOf(entry.name, values)),
          sample: null,
        })
      }
    />
  );
}
