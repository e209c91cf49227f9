/** How live the run is: a dot, a word and a time. Pressed, the page follows the run. */

import { useEffect, useReducer } from "preact/hooks";
import { ago, span } from "../../lib/time";
import { activityOf, MEANING } from "../../state/activity";
import { isConnected, isFollowing, isPaused, toggleFollowing } from "../../state/live";
import { changedS, run } from "../../state/runs";
import style from "./LiveDot.module.css";

const TICK_MS = 1000;

export function LiveDot() {
  const [, tick] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => tick(undefined), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const item = run.value;
  if (item === null) return null;
  const seconds = changedS(item);
  const doing = activityOf(item);
  const isLost = isConnected.value === false;
  const time = seconds === null ? "" : ago(seconds);
  const isWaiting = !isFollowing.value && isPaused.value && doing === "running";
  const way = isFollowing.value ? "following" : isWaiting ? "following paused" : doing === "unknown" ? "last write" : doing;
  const word = isLost ? "connection lost" : way;
  const title = isFollowing.value ? "Following the newest step. Press to stop (l)" : "Press to follow the newest step (l)";
  const dot = isLost ? style["lost"] : (style[doing] ?? "");
  return (
    <button
      type="button"
      class={`action ${style["live"]}`}
      aria-pressed={isFollowing.value}
      title={`${MEANING[doing](span(item.quiet_s))}${time === "" ? "" : `; last written ${time}`}. ${title}`}
      onClick={toggleFollowing}
    >
      <i class={`${style["dot"]} ${dot} ${isWaiting ? style["paused"] : ""}`} />
      <span class={style["word"]}>
        {word}
        {time !== "" && !isLost && <span>{(doing === "ended" || doing === "unknown") && !isFollowing.value ? ` ${time}` : ` · ${time}`}</span>}
      </span>
    </button>
  );
}
