/** The answer to a request, loaded when the component appears and again when its key changes. */

import { useLayoutEffect, useState } from "preact/hooks";
import type { ApiError } from "../../api";
import { asApiError } from "../../state/browser/login";

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  again: () => void;
}

/**
 * Runs `load` for each `key`, and drops a reply that comes after the key has changed; `null` loads nothing. `of`
 * identifies the subject of the reply: an older reply about the same subject stays until the next one arrives, so that
 * nothing flickers or folds.
 */
export function useLoaded<T>(key: string | null, load: () => Promise<T>, of = key): Loaded<T> {
  const [result, setResult] = useState<{
    of: string | null;
    key: string;
    value: T | null;
    error: ApiError | null;
  } | null>(null);
  const [round, setRound] = useState(0);
  // An effect would run after the frame that shows the loading state.
  useLayoutEffect(() => {
    if (key === null) return undefined;
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setResult({ of, key, value, error: null }),
      (error: unknown) =>
        isCurrent &&
        setResult((last) => ({ of, key, value: last?.of === of ? last.value : null, error: asApiError(error) })),
    );
    return () => {
      isCurrent = false;
    };
    // The key stands for all that `load` depends on.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [key, round]);
  const isOf = key !== null && result !== null && result.of === of;
  return {
    value: isOf ? result.value : null,
    error: isOf && result.key === key ? result.error : null,
    again: () => setRound(round + 1),
  };
}
