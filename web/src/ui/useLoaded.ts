/** What a question answers, loaded when the component shows and again when its key changes. */

import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../api";
import { asApiError } from "../state/session";

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  again: () => void;
}

/** `load` is asked for each `key`; an answer that comes after the key has changed is dropped. `null` asks nothing. */
export function useLoaded<T>(key: string | null, load: () => Promise<T>): Loaded<T> {
  const [found, setFound] = useState<{ key: string; value: T | null; error: ApiError | null } | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (key === null) return undefined;
    let isCurrent = true;
    const take = (value: T | null, error: ApiError | null): void => {
      if (isCurrent) setFound({ key, value, error });
    };
    load().then(
      (value) => take(value, null),
      (error: unknown) => take(null, asApiError(error)),
    );
    return () => {
      isCurrent = false;
    };
    // The key stands for all that `load` depends on.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [key, round]);
  const isOf = found !== null && found.key === key;
  return { value: isOf ? found.value : null, error: isOf ? found.error : null, again: () => setRound(round + 1) };
}
