/** The progress of the run's index, in bytes. The page is usable in the meantime. */

import { useSession } from "../../state/useSession";
import { size } from "../../lib/numbers/numbers";
import style from "./IndexProgress.module.css";

export function IndexProgress() {
  const session = useSession();
  const progress = session.run.now.value?.progress;
  if (progress === undefined || progress.phase === "ready") return null;
  const { done_bytes, total_bytes, phase } = progress;
  const part = total_bytes > 0 ? Math.min(1, done_bytes / total_bytes) : 0;
  const words = `Indexing ${phase === "text" ? "texts" : ""}: ${size(done_bytes)} of ${size(total_bytes)}`;
  return (
    <span class={style["progress"]} title={`${words}. You can read what is indexed.`}>
      <span class={style["words"]}>{Math.floor(part * 100)}% indexed</span>
      <span
        class={style["bar"]}
        role="progressbar"
        aria-label={words}
        aria-valuenow={Math.round(part * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        style={{ width: `${part * 100}%` }}
      />
    </span>
  );
}
