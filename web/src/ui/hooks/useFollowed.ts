/** The answer about a run that grows: asked again for its newest version once the last question has its answer. */

import { useEffect, useState } from "preact/hooks";
import { type Loaded, useLoaded } from "./useLoaded";

/**
 * As `useLoaded`, with the subject of the reply, or null to load nothing, and what is asked about it, which is asked at
 * once. A version waits, since a run that is being indexed has another one before a reply is there.
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
