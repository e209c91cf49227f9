/** The field of our own find, over the transcript. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { figure } from "../../lib/numbers";
import { asked, closeFind, findError, isCased, isFinding, standing, step, wanted } from "./find";
import style from "./FindBar.module.css";

export function FindBar() {
  const field = useRef<HTMLInputElement>(null);
  const wish = asked.value;
  // Before the next key: what is typed at once belongs to the field.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [wish]);
  if (!isFinding.value) return null;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") closeFind();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const known = standing.value;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it wherever the focus is
    <div class={style["bar"]} role="search" aria-label="Find in this sample" onKeyDown={onKeyDown}>
      <input
        ref={field}
        class="field"
        type="search"
        aria-label="Find in this sample"
        placeholder="Find in this sample"
        maxLength={1000}
        value={wanted.value}
        onInput={(event) => {
          wanted.value = event.currentTarget.value;
        }}
      />
      <span class={style["count"]} role="status">{findError.value ?? words(known)}</span>
      <button type="button" class="action" aria-label="Previous place" title="Previous (Shift+Enter)" onClick={() => step(-1)}>↑</button>
      <button type="button" class="action" aria-label="Next place" title="Next (Enter)" onClick={() => step(1)}>↓</button>
      <button type="button" class="action" aria-pressed={isCased.value} title="Distinguish capitals" onClick={() => {
        isCased.value = !isCased.value;
      }}>Aa</button>
      <button type="button" class="action" onClick={closeFind}>Close</button>
    </div>
  );
}

function words(known: { at: number; total: number; known: number } | null): string {
  if (known === null) return "";
  if (known.total === 0) return "Nothing found";
  const more = known.known < known.total ? `, the first ${figure(known.known)} can be gone to` : "";
  return `${figure(known.at)} of ${figure(known.total)}${more}`;
}
