/** The server's cache in figures, and a button to clear it. */

import { useSession } from "../../state/useSession";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, clearCache, getCacheStats } from "../../api";
import type { CacheStats } from "../../api/types.gen";
import { figure, size } from "../../lib/numbers/numbers";
import { startAgain } from "../../state/start";
import { asApiError } from "../../state/browser/login";
import { Failure } from "../../ui/layout/EmptyState";
import style from "./SettingsPage.module.css";

const CLEARS = "Clears cached data of the runs. Rolloupe rebuilds it when needed; the runs are unchanged.";

export function Cache() {
  const session = useSession();
  const [stats, setStats] = useState<CacheStats | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [message, setMessage] = useState("");
  const load = async (ask: () => Promise<CacheStats>): Promise<boolean> => {
    try {
      setStats(await ask());
      setError(null);
      return true;
    } catch (problem) {
      setError(asApiError(problem));
      return false;
    }
  };
  useEffect(() => void load(getCacheStats), []);
  const clear = async (): Promise<void> => {
    setMessage("Clearing …");
    const isDone = await load(clearCache);
    setMessage(isDone ? "Cleared." : "");
    if (isDone) await startAgain(session);
  };
  return (
    <section class={style["section"]} aria-label="Cache">
      <h2>Cache</h2>
      {error !== null && (
        <Failure error={error} what="The figures of the cache" again={() => void load(getCacheStats)} />
      )}
      {stats !== null && (
        <>
          <dl class={style["facts"]}>
            <Line
              label="Replies in memory"
              value={`${figure(stats.entries)} of at most ${figure(stats.limit_entries)}`}
            />
            <Line label="Memory" value={`${size(stats.memory_bytes)} of at most ${size(stats.limit_bytes)}`} />
            <Line label="Answered from it" value={answered(stats)} />
            <Line label="Index on disk" value={size(stats.index_bytes)} />
            <div>
              <dt>Index folder</dt>
              <dd class={style["path"]}>{stats.index_dir}</dd>
            </div>
          </dl>
          <div class={style["act"]}>
            <button type="button" class="button" onClick={() => void clear()}>
              Clear
            </button>
            <span class={style["note"]} role="status">
              {message || CLEARS}
            </span>
          </div>
        </>
      )}
    </section>
  );
}

function Line({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function answered({ hits, misses }: CacheStats): string {
  const all = hits + misses;
  return all === 0 ? "no requests yet" : `${figure(hits)} of ${figure(all)} questions`;
}
