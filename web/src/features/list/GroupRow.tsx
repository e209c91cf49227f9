/** The heading of a group: two lines of its prompt, how many samples, mean reward and its spread. */

import type { GroupItem } from "../../api/types.gen";
import { count, finite, score } from "../../lib/numbers";
import { share, stop } from "../../lib/reward";
import { goTo } from "../../state/list";
import { place } from "../../state/place";
import { range } from "../../state/ranges";
import { ReasonBadge } from "../discarded/ReasonBadge";
import style from "./Row.module.css";

interface Props {
  group: GroupItem;
  /** The place of its first sample. */
  first: number;
  box: { transform: string; height: string };
}

export function GroupRow({ group, first, box }: Props) {
  const at = share(finite(group.reward_mean), range.value);
  return (
    <li class={style["group"]} style={box}>
      <button type="button" tabIndex={-1} class={style["prompt"]} title={group.prompt} onClick={() => void goTo(first)}>
        {group.prompt.trim() === "" ? <span class="quiet">(no prompt)</span> : group.prompt}
      </button>
      {place.value.discarded && group.discarded !== "" && <ReasonBadge reason={group.discarded} />}
      <span class={style["mean"]} title={`${count(group.samples, "sample")}, mean reward ${score(group.reward_mean, "none")} ± ${score(group.reward_std, "none")}`}>
        <b style={at === null ? undefined : { color: `var(--reward-ink-${stop(at)})` }}>{score(group.reward_mean, "–")}</b>
        <small>
          {group.reward_std === null || group.samples < 2 ? "" : `±${score(group.reward_std)} · `}n {group.samples}
        </small>
      </span>
    </li>
  );
}
