/** The rewards of the compared runs as one picture, and in words which run is better. */

import { useState } from "preact/hooks";
import { getRewardComparison } from "../../api/compare";
import type { RunItem } from "../../api/types.gen";
import { choicesOf, EVALS, nameOfSplit } from "../../lib/address/splits";
import { count, figure } from "../../lib/numbers/numbers";
import { colourOf, nameOf } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Loading, Missing } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { boundsOf, CurveChart, rewardOf } from "../charts";
import { sharedSplits, versionOf } from "./options";
import style from "./Compare.module.css";

export function RewardsSection({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const [pointed, point] = useState<number | null>(null);
  const split = session.place.field.split.value;
  const reply = session.steps.reply.value;
  const [first] = compared;
  if (first === undefined || split === null) return null;
  const found = first.splits.find(({ name }) => name === split);
  return (
    <section class={style["part"]} aria-labelledby="compare-rewards">
      <h2 id="compare-rewards">
        Reward of {nameOfSplit(split)}
        {pointed !== null && <small class="quiet"> step {figure(pointed)}</small>}
      </h2>
      <Verdicts compared={compared} split={split} />
      {(reply === null || reply.steps.length > 1) && (
        <div class={style["picture"]}>
          {reply !== null && (
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
      )}
    </section>
  );
}

/** More runs have their curves alone. */
const MOST_SENTENCES = 4;

/** The verdict about two recipes with several seeds, else those about the first run and each other one. */
function Verdicts({ compared, split }: { compared: readonly RunItem[]; split: string }) {
  const able = compared.filter((run) => sharedSplits([run], split).length > 0);
  const unable = compared.filter((run) => !able.includes(run));
  return (
    <>
      {able.length > 1 && <VerdictsOf compared={able} split={split} />}
      {unable.length > 0 && <Lacking unable={unable} compared={compared} split={split} />}
    </>
  );
}

interface LackingProps {
  unable: readonly RunItem[];
  compared: readonly RunItem[];
  split: string;
}

/** The splits of the runs that lack this one, and a way to each split that all runs have. */
function Lacking({ unable, compared, split }: LackingProps) {
  const session = useSession();
  const what = split === EVALS ? "evaluation" : `${split} split`;
  const shared = choicesOf(compared[0]?.splits ?? []).filter(({ name }) => sharedSplits(compared, name).length > 0);
  return (
    <>
      {unable.map((run) => {
        const own = run.splits.map(({ name }) => name).join(", ");
        return (
          <p key={run.id} class="quiet">
            <Text text={`${nameOf(run)} has no ${what}${own === "" ? "" : `; it has ${own}`}.`} />
          </p>
        );
      })}
      <p class="quiet">
        {shared.length === 0 ? "No split is in all of these runs." : "In all of these runs:"}
        {shared.map(({ name }) => (
          <>
            {" "}
            <a key={name} href={session.place.href({ split: name })} onClick={session.place.onLink({ split: name })}>
              <Text text={nameOfSplit(name)} />
            </a>
          </>
        ))}
      </p>
    </>
  );
}

function VerdictsOf({ compared, split }: { compared: readonly RunItem[]; split: string }) {
  const loaded = useComparison(compared.length > 2 ? compared : [], split);
  const [first, ...others] = compared;
  const sides = loaded.value?.runs ?? [];
  if (first === undefined || (compared.length > 2 && loaded.value === null && loaded.error === null))
    return <Loading />;
  if (sides.length === 0)
    return (
      <>
        {others.slice(0, MOST_SENTENCES).map((other) => (
          <Pair key={other.id} runs={[first, other]} split={split} />
        ))}
      </>
    );
  const name = (id: string): string => nameOf(compared.find((run) => run.id === id) ?? first);
  return (
    <>
      <Verdict loaded={loaded} />
      {sides.map((side) => (
        <p key={side.join(" ")} class="quiet">
          {side.length === 1 ? "One run: " : `One recipe, ${count(side.length, "seed")}: `}
          <Text text={side.map(name).join(", ")} />
        </p>
      ))}
    </>
  );
}

const useComparison = (runs: readonly RunItem[], split: string) =>
  useFollowed(
    runs.length === 0 ? null : JSON.stringify(runs.map(({ id }) => id)),
    versionOf(runs),
    () =>
      getRewardComparison(
        runs.map(({ id }) => id),
        split,
      ),
    split,
  );

function Pair({ runs, split }: { runs: readonly RunItem[]; split: string }) {
  const isShared = sharedSplits(runs, split).length > 0;
  const loaded = useComparison(isShared ? runs : [], split);
  if (!isShared)
    return (
      <p class="quiet">
        <Text text={`${runs.map(nameOf).join(" and ")} have no evaluation in common.`} />
      </p>
    );
  return <Verdict loaded={loaded} />;
}

/** Which of two sides is better, and how sure that is. */
function Verdict({ loaded }: { loaded: ReturnType<typeof useComparison> }) {
  if (loaded.error !== null) return <Missing error={loaded.error} again={loaded.again} />;
  if (loaded.value === null) return <Loading />;
  return (
    <p class={loaded.value.better === "" ? "quiet" : style["verdict"]} role="status">
      <Text text={loaded.value.text} />
    </p>
  );
}
