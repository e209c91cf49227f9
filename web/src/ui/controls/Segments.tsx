/** A choice of a few options side by side; the chosen one has the accent colour. */

import style from "./Segments.module.css";

interface Props<T extends string> {
  label: string;
  options: readonly { value: T; label: string; title?: string }[];
  value: T;
  choose: (value: T) => void;
  /** Called with an option that a person is about to choose. */
  near?: (value: T) => void;
}

export function Segments<T extends string>({ label, options, value, choose, near }: Props<T>) {
  return (
    <div class={style["segments"]} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          class={`action ${style["segment"]}`}
          aria-pressed={option.value === value}
          title={option.title}
          onPointerEnter={near && (() => near(option.value))}
          onFocus={near && (() => near(option.value))}
          onClick={() => choose(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
