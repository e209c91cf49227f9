/** Tells whether the page is narrow in the sense of some styles. */

import { useEffect, useState } from "preact/hooks";

/** One pane replaces all. */
export const NARROW = "(max-width: 520px)";
/** There is no room for curves beside the content. */
export const SLIM = "(max-width: 1000px)";
/** Curves beside the content leave it enough room. */
export const ROOMY = "(min-width: 1280px)";

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
