/** A word that copies a text, and says in place that it has. */

import { useEffect, useState } from "preact/hooks";
import { copy } from "./clipboard";

const SAID_MS = 1500;

interface Props {
  /** What is copied; asked for when it is wanted. */
  text: () => string;
  label?: string;
  /** What it is, for who does not see where the word stands. */
  what: string;
  class?: string | undefined;
}

export function Copy({ text, label = "Copy", what, class: className = "action" }: Props) {
  const [said, say] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = setTimeout(() => say(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const onClick = async (): Promise<void> => say((await copy(text())) ? "Copied" : "Not allowed");
  return (
    <button type="button" class={className} aria-label={said ?? `${label} ${what}`} onClick={() => void onClick()}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}
