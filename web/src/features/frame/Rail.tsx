/** The pages of the app, at the side; on a narrow screen at the foot. */

import type { Place } from "../../lib/address";
import { figure } from "../../lib/numbers";
import { onLink, href, place } from "../../state/place";
import { run } from "../../state/runs";
import { Icon, type Sign } from "../../ui/Icon";
import { helpOpen } from "../help/help";
import style from "./Rail.module.css";

export function Rail() {
  const { page, list, discarded, run: runId } = place.value;
  const problems = run.value?.problems ?? 0;
  return (
    <nav class={style["rail"]} aria-label="Pages">
      {runId !== null && (
        <>
          <Item sign="rollouts" label="Rollouts" to={{ page: "rollouts", discarded: false, list: false }} isHere={page === "rollouts" && !discarded && !list} />
          <Item sign="list" label="Samples" to={{ page: "rollouts", list: true }} isHere={page === "rollouts" && list} isNarrow />
          <Item sign="discarded" label="Discarded: what was not trained on" to={{ page: "rollouts", discarded: true, list: false }} isHere={page === "rollouts" && discarded && !list} />
          <Item sign="report" label="Report: what the trainer logged for the step" to={{ page: "report", list: false }} isHere={page === "report"} />
          <Item sign="run" label="Run: configuration, checkpoints, code, files" to={{ page: "run", list: false }} isHere={page === "run"} />
          <Item
            sign="problems"
            label={problems === 0 ? "Problems: none" : `Problems: ${figure(problems)}`}
            to={{ page: "problems", list: false }}
            isHere={page === "problems"}
            badge={problems}
          />
        </>
      )}
      <Item sign="settings" label="Settings" to={{ page: "settings", list: false }} isHere={page === "settings"} />
      <button type="button" class={`${style["item"]} ${style["help"]}`} aria-label="?: the map of keys" title="Keys (?)" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
    </nav>
  );
}

interface ItemProps {
  sign: Sign;
  label: string;
  to: Partial<Place>;
  isHere: boolean;
  isNarrow?: boolean;
  badge?: number;
}

function Item({ sign, label, to, isHere, isNarrow = false, badge = 0 }: ItemProps) {
  return (
    <a
      class={`${style["item"]} ${isNarrow ? style["narrow"] : ""}`}
      href={href(to)}
      onClick={onLink(to)}
      aria-current={isHere ? "page" : undefined}
      aria-label={label}
      title={label}
    >
      <Icon sign={sign} />
      {badge > 0 && <span class={style["badge"]}>{badge > 99 ? "99+" : badge}</span>}
    </a>
  );
}
