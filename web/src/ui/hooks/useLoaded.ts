/** What a question answers, loaded when the component shows and again when its key changes. */

import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../../api";
import { asApiError } from "../../state/browser/login";

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  again: () => void;
}

/**
 * `load` is asked for each `key`; an answer that comes after the key has changed is dropped. `null` asks nothing. `of`
 * is what the answer is about: an older one about the same stays until the next is here, so that nothing flickers or
 * folds.
 */
export function useLoaded<T>(key: string | null, load: () => Promise<T>, of = key): Loaded<T> {
  const [found, setFound] = useState<{
    of: string | null;
    key: string;
    value: T | null;
    error: ApiError | null;
  } | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (key === null) return undefined;
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setFound({ of, key, value, error: null }),
      (error: unknown) =>
        isCurrent &&
        setFound((last) => ({ of, key, value: last?.of === of ? last.value : null, error: asApiError(error) })),
    );
    return () => {
      isCurrent = false;
    };
    // The key stands for all that `load` depends on.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [key, round]);
  const isOf = key !== null && found !== null && found.of === of;
  return {
    value: isOf ? found.value : null,
    error: isOf && found.key === key ? found.error : null,
    again: () => setRound(round + 1),
  };
}
