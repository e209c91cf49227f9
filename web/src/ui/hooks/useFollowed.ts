/** The answer about a run that grows, requested again for its newest version after each answer. */

import { useEffect, useState } from "preact/hooks";
import { type Loaded, useLoaded } from "./useLoaded";

/**
 * Like `useLoaded`: `of` is the subject, or null to load nothing. A change of `of` or `what` loads at once. A new
 * `version` waits for the last reply, since a run that is being indexed changes faster than replies arrive.
 */
export function useFollowed<T>(of: string | null, version: string, load: () => Promise<T>, what = ""): Loaded<T> {
  const [asked, ask] = useState(version);
  const key = of === null ? null : JSON.stringify([of, what, asked]);
  const loaded = useLoaded(key, async () => ({ key, value: await load() }), of);
  const isAnswered = loaded.value?.key === key || loaded.error !== null;
  useEffect(() => {
    if (isAnswered) ask(version);
  }, [isAnswered, version]);
  return { ...loaded, value: loaded.value?.value ?? null };
}
