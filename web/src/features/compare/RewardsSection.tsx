/** The rewards of the compared runs as one picture, and in words which run is better. */

import { useState } from "preact/hooks";
import { getRewardComparison } from "../../api/compare";
import type { RunItem } from "../../api/types.gen";
import { nameOfSplit } from "../../lib/address/splits";
import { figure } from "../../lib/numbers/numbers";
import { colourOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Loading, Missing } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { boundsOf, CurveChart, rewardOf } from "../charts";
import { versionOf } from "./options";
import style from "./Compare.module.css";

export function RewardsSection({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const [pointed, point] = useState<number | null>(null);
  const split = session.place.field.split.value;
  const reply = session.steps.reply.value;
  const [first, ...others] = compared;
  if (first === undefined || split === null) return null;
  const found = first.splits.find(({ name }) => name === split);
  return (
    <section class={style["part"]} aria-labelledby="compare-rewards">
      <h2 id="compare-rewards">
        Reward of {nameOfSplit(split)}
        {pointed !== null && <small class="quiet"> step {figure(pointed)}</small>}
      </h2>
      {others.slice(0, MOST_SENTENCES).map((other) => (
        <Verdict key={other.id} runs={[first, other]} split={split} />
      ))}
      <div class={style["picture"]}>
        {reply !== null && reply.steps.length > 1 && (
          <CurveChart
            what="mean reward"
            curve={rewardOf(reply, true)}
            bounds={boundsOf(found?.reward_min, found?.reward_max)}
            colour={colourOf(first.id)}
            others={session.overlays.all.value.map(({ item, steps }) => ({
              curve: steps === null ? null : rewardOf(steps, true),
              colour: colourOf(item.id),
            }))}
            current={session.place.field.step.value}
            hover={point}
            isTall
          />
        )}
      </div>
    </section>
  );
}

/** More runs have their curves alone. */
const MOST_SENTENCES = 4;

/** Which of two runs is better, and how sure that is. */
function Verdict({ runs, split }: { runs: readonly [RunItem, RunItem]; split: string }) {
  const loaded = useFollowed(
    JSON.stringify([runs[0].id, runs[1].id]),
    versionOf(runs),
    () => getRewardComparison([runs[0].id, runs[1].id], split),
    split,
  );
  if (loaded.error !== null) return <Missing error={loaded.error} again={loaded.again} />;
  if (loaded.value === null) return <Loading />;
  return (
    <p class={loaded.value.better === "" ? "quiet" : style["verdict"]} role="status">
      <Text text={loaded.value.text} />
    </p>
  );
}
