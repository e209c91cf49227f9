/** The current colour scheme, for canvases, which do not notice changes themselves. */

import { useEffect, useState } from "preact/hooks";
import { settings } from "../../state/browser/settings";

const DARK = "(prefers-color-scheme: dark)";

export function useScheme(): string {
  const { theme, rewardColours } = settings.value;
  const [isDark, setDark] = useState(() => matchMedia(DARK).matches);
  useEffect(() => {
    const query = matchMedia(DARK);
    const listen = (): void => setDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return `${theme === "system" ? (isDark ? "dark" : "light") : theme} ${rewardColours}`;
}
