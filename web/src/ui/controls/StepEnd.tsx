/** One end of a range of steps: a number, or nothing for the first or the last step. */

import { useLayoutEffect, useState } from "preact/hooks";
import { whole } from "../../lib/numbers/numbers";

interface Props {
  words: "First step" | "Last step";
  value: number | null;
  choose: (end: number | null) => void;
}

export function StepEnd({ words, value, choose }: Props) {
  const [text, setText] = useState("");
  const shown = value === null ? "" : String(value);
  // At once: later it would overwrite newly typed text.
  useLayoutEffect(() => setText(shown), [shown]);
  const end = whole(text);
  const isRead = text.trim() === "" || end !== null;
  const take = (): void => {
    if (isRead && end !== value) choose(end);
    else setText(shown);
  };
  return (
    <input
      class="field"
      aria-label={words}
      title={`${words}; empty: the ${words === "First step" ? "first" : "last"} one`}
      inputMode="numeric"
      autocomplete="off"
      aria-invalid={!isRead}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === "Enter") take();
      }}
    />
  );
}
