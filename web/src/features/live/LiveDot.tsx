/** How live the run is: a dot and a time. Pressed, the page follows the run. */

import { useEffect, useReducer } from "preact/hooks";
import { ago } from "../../lib/time";
import { isConnected, isFollowing, toggleFollowing } from "../../state/live";
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
  const isLost = isConnected.value === false;
  const time = seconds === null ? "" : ago(seconds);
  const word = isLost ? "connection lost" : isFollowing.value ? "following" : item.live ? "live" : "written";
  const words = `${word} ${time}`.trim();
  const title = isFollowing.value ? "Following the newest step. Press to stop (l)" : "Press to follow the newest step (l)";
  return (
    <button type="button" class={`action ${style["live"]}`} aria-pressed={isFollowing.value} title={`${words}. ${title}`} onClick={toggleFollowing}>
      <i class={`${style["dot"]} ${isLost ? style["lost"] : item.live ? style["on"] : ""}`} />
      <span class={style["word"]}>
        {word}
        {time !== "" && !isLost && <span>{item.live || isFollowing.value ? ` · ${time}` : ` ${time}`}</span>}
      </span>
    </button>
  );
}
