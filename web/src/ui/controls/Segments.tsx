/** A choice of a few options side by side; the chosen one has the accent colour. */

import style from "./Segments.module.css";
import { useRef } from "preact/hooks";

const REST_MS = 100;

interface Props<T extends string> {
  label: string;
  options: readonly { value: T; label: string; title?: string }[];
  value: T;
  choose: (value: T) => void;
  /** Called with an option on which the pointer or the focus rests: a person is about to choose it. */
  near?: (value: T) => void;
}

export function Segments<T extends string>({ label, options, value, choose, near }: Props<T>) {
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const rest = (option: T) => {
    clearTimeout(resting.current);
    if (near) resting.current = setTimeout(() => near(option), REST_MS);
  };
  return (
    <div class={style["segments"]} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          class={`action ${style["segment"]}`}
          aria-pressed={option.value === value}
          title={option.title}
          onPointerEnter={() => rest(option.value)}
          onPointerLeave={() => clearTimeout(resting.current)}
          onFocus={() => rest(option.value)}
          onBlur={() => clearTimeout(resting.current)}
          onClick={() => choose(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
