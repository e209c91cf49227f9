/** The runs in the charts: colours, rewards and differing configuration values; a button adds runs. */

import { useMemo } from "preact/hooks";
import { getConfigTable } from "../../../api/compare";
import type { RunItem, StepsReply } from "../../../api/types.gen";
import { finite, score } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { colourOf, nameOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { Text } from "../../../ui/text/Text";
import { AddRuns, OnlyRun, TakeOut } from "../../runs";
import { GroupSelect } from "../groups/GroupSelect";
import { groupOf, hiddenRuns, pageAsked, setOption, withHidden } from "../choice";
import { pointsOf } from "../points/points";
import { differencesOf } from "./differences";
import style from "./Runs.module.css";

/** The most keys in a line, or on hover. */
const MOST_KEYS = 40;

export function RunsSection({ run }: { run: RunItem }) {
  const session = useSession();
  const asked = pageAsked(session);
  const over = session.overlays.runs.value;
  const all = [run, ...over];
  const ids = all.map(({ id }) => id);
  const isGrouped = over.length > 0 && groupOf(asked) !== "";
  const loaded = useFollowed(
    over.length > 0 ? JSON.stringify(ids) : null,
    all.map(({ version }) => version).join(" "),
    () => getConfigTable(ids, { all: false, find: "", offset: 0, limit: MOST_KEYS }),
  );
  const configs = over.length > 0 ? loaded.value : null;
  const { last } = pointsOf(asked);
  const steps = new Map(session.overlays.all.value.map(({ item, steps: theirs }) => [item.id, theirs]));
  steps.set(run.id, session.steps.reply.value);
  const hasRewards = [...steps.values()].some((one) => one?.reward_mean.some((mean) => finite(mean) !== null) === true);
  const compare = { page: "compare" } as const;
  return (
    <section class={style["section"]} aria-labelledby="metrics-runs">
      <h2 id="metrics-runs">Runs {hasRewards && <small title={ABOUT_REWARD}>last reward</small>}</h2>
      <ul class={style["runs"]} aria-label="Runs in the charts">
        {all.map((one) => (
          <Row
            key={one.id}
            item={one}
            isFirst={one === run}
            isAlone={over.length === 0}
            isGrouped={isGrouped}
            steps={steps.get(one.id) ?? null}
            last={last}
            differences={configs === null ? null : differencesOf(configs, one.id)}
          />
        ))}
      </ul>
      <div class={style["add"]}>
        <AddRuns
          label="Runs to add to the charts"
          button={over.length === 0 ? "Compare with another run" : "Add a run"}
          buttonClass={`action ${style["button"]}`}
          isInline
        />
        <OnlyRun />
        {over.length > 0 && (
          <a href={session.place.href(compare)} onClick={session.place.onLink(compare)}>
            Compare in full
          </a>
        )}
        {over.length > 0 && <GroupSelect runs={ids} value={groupOf(asked)} />}
      </div>
    </section>
  );
}

const ABOUT_REWARD = "Mean reward of the last step, not smoothed: as the numbers of the charts";

interface Props {
  item: RunItem;
  isFirst: boolean;
  isAlone: boolean;
  /** True if lines belong to groups of runs, none to this run alone. */
  isGrouped: boolean;
  steps: StepsReply | null;
  /** The last step that the charts draw, if a person chose one. */
  last: number | null;
  differences: { short: string; whole: string } | null;
}

function Row({ item, isFirst, isAlone, isGrouped, steps, last, differences }: Props) {
  const session = useSession();
  const hidden = hiddenRuns(pageAsked(session));
  const isShown = !hidden.has(item.id);
  const name = nameOf(item);
  const reward = useMemo(() => lastReward(steps, last), [steps, last]);
  const words = (
    <>
      <i style={isGrouped ? {} : { background: `var(--run-${colourOf(item.id)})` }} />
      <span class="clip">
        <Text text={name} />
      </span>
      <b>{reward === null ? "" : score(reward)}</b>
    </>
  );
  return (
    <li>
      {isAlone || isGrouped ? (
        <p class={style["run"]} title={harmless(item.path)}>
          {words}
        </p>
      ) : (
        <button
          type="button"
          class={style["run"]}
          aria-pressed={isShown}
          title={`${isShown ? "Hide" : "Show"} its curves\n${harmless(item.path)}`}
          onClick={() => setOption(session, withHidden(hidden, item.id))}
        >
          {words}
        </button>
      )}
      {!isAlone && (
        <p class={style["differences"]}>
          <span title={differences?.whole}>{differences?.short}</span>
          {!isFirst && <TakeOut item={item} from=" from the charts" />}
        </p>
      )}
    </li>
  );
}

/** The last mean reward of a run, up to a step; null without one. */
function lastReward(reply: StepsReply | null, last: number | null): number | null {
  const { steps = [], reward_mean = [] } = reply ?? {};
  return reward_mean.map(finite).findLast((one, i) => one !== null && (steps[i] ?? 0) <= (last ?? Infinity)) ?? null;
}
