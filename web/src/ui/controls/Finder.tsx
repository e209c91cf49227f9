/** A search field above a list: typed text narrows the list, arrows select a row, and Enter chooses it. */

import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  label: string;
  placeholder: string;
  class: string | undefined;
  text: string;
  setText: (text: string) => void;
  /** The `id` of the list; the ids of its rows add a number from 0. */
  list: string;
  count: number;
  /** The selected row, -1 for none. */
  marked: number;
  mark: (row: number) => void;
  choose: (row: number) => void;
  inputMode?: "numeric";
}

export const rowId = (list: string, row: number): string => `${list}-${row}`;

export function Finder({
  label,
  placeholder,
  class: className,
  text,
  setText,
  list,
  count,
  marked,
  mark,
  choose,
  inputMode,
}: Props) {
  const field = useRef<HTMLInputElement>(null);
  // Before the next key: text typed right away belongs to the field. Without scrolling: its card has no place yet.
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const at = Math.min(marked, count - 1);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") mark(at >= count - 1 ? 0 : at + 1);
    else if (event.key === "ArrowUp") mark(at <= 0 ? Math.max(0, count - 1) : at - 1);
    else if (event.key === "Enter") choose(Math.max(0, at));
    else return;
    event.preventDefault();
  };
  return (
    <input
      ref={field}
      class={`field ${className}`}
      aria-label={label}
      placeholder={placeholder}
      role="combobox"
      aria-expanded="true"
      aria-controls={list}
      aria-activedescendant={at >= 0 ? rowId(list, at) : undefined}
      autocomplete="off"
      spellcheck={false}
      inputMode={inputMode}
      value={text}
      onInput={(event) => {
        setText(event.currentTarget.value);
        mark(0);
      }}
      onKeyDown={onKeyDown}
    />
  );
}
