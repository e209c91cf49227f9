/** A button that copies a text, and confirms it in place. */

import { useEffect, useState } from "preact/hooks";
import { copy } from "./clipboard";

const SAID_MS = 1500;

interface Props {
  /** The text to copy, computed on demand. */
  text: () => string;
  label?: string;
  /** What it copies, for screen readers. */
  what: string;
  class?: string | undefined;
}

export function Copy({ text, label = "Copy", what, class: className = "action" }: Props) {
  const [message, announce] = useState<string | null>(null);
  useEffect(() => {
    if (message === null) return undefined;
    const timer = setTimeout(() => announce(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [message]);
  const onClick = async (): Promise<void> => announce((await copy(text())) ? "Copied" : "Not allowed");
  return (
    <button type="button" class={className} aria-label={message ?? `${label} ${what}`} onClick={() => void onClick()}>
      <span aria-live="polite">{message ?? label}</span>
    </button>
  );
}
