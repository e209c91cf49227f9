/** Whether the page is so narrow that one pane takes its place alone, as the styles have it. */

import { useEffect, useState } from "preact/hooks";

export const NARROW = "(max-width: 520px)";

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const listen = (): void => setNarrow(query.matches);
    listen();
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return isNarrow;
}
