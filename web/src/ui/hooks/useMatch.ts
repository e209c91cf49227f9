/** Whether the page is as narrow as some styles ask. */

import { useEffect, useState } from "preact/hooks";

/** One pane takes the place of all. */
export const NARROW = "(max-width: 520px)";
/** There is no room for curves beside what is read. */
export const SLIM = "(max-width: 1000px)";

export function useMatch(query: string): boolean {
  const [isMatch, setMatch] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const listen = (): void => setMatch(media.matches);
    listen();
    media.addEventListener("change", listen);
    return () => media.removeEventListener("change", listen);
  }, [query]);
  return isMatch;
}
