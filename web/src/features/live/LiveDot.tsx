/** The state of the run: a dot, a word and a time. On a press, the page follows the run; while it runs, it says so. */

import { useSession } from "../../state/useSession";
import { useEffect, useReducer } from "preact/hooks";
import { ago, span } from "../../lib/numbers/duration";
import { activityOf, MEANING } from "../../state/run/activity";
import { isConnected } from "../../state/connection";
import { changedS } from "../../state/runs";
import style from "./LiveDot.module.css";

const TICK_MS = 1000;

export function LiveDot() {
  const session = useSession();
  const [, tick] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => tick(undefined), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const item = session.run.now.value;
  if (item === null) return null;
  const seconds = changedS(item);
  const doing = activityOf(item);
  const isLost = isConnected.value === false;
  const time = seconds === null ? "" : ago(seconds);
  const isWaiting = !session.live.isFollowing.value && session.live.isPaused.value && doing === "running";
  const isFollowing = session.live.isFollowing.value;
  const isQuiet = doing === "ended" || doing === "unknown";
  const state = isWaiting
    ? "following paused"
    : doing === "unknown"
      ? time === ""
        ? "nothing written"
        : "last write"
      : doing;
  const way = !isFollowing || doing === "ended" ? state : isQuiet ? `Following · ${state}` : "Following";
  const word = isLost ? "connection lost" : way;
  const mayFollow = !isFollowing && !isLost && doing === "running";
  const title = isFollowing ? "Following the newest step. Press to stop (l)" : "Press to follow the newest step (l)";
  const dot = isLost ? style["lost"] : (style[doing] ?? "");
  return (
    <button
      type="button"
      class={`action ${style["live"]} ${mayFollow ? style["offer"] : ""}`}
      aria-pressed={isFollowing}
      title={`${MEANING[doing](span(item.quiet_s))}${time === "" ? "" : `; last written ${time}`}. ${title}`}
      onClick={session.live.toggleFollowing}
    >
      <i class={`${style["dot"]} ${dot} ${isWaiting ? style["paused"] : ""}`} />
      <span class={style["word"]}>
        {word}
        {time !== "" && !isLost && <span>{isQuiet ? ` ${time}` : ` · ${time}`}</span>}
      </span>
      {mayFollow && <b class={style["follow"]}>Follow</b>}
    </button>
  );
}
