/** The field of the page's own find, over the transcript. */

import { useSession } from "../../../state/useSession";
import { useLayoutEffect, useRef } from "preact/hooks";
import { figure } from "../../../lib/numbers/numbers";
import style from "./FindBar.module.css";

export function FindBar() {
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const wish = session.find.requests.value;
  // Before the next key: text typed right away belongs to the field.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [wish]);
  if (!session.find.isFinding.value) return null;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") session.find.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") session.find.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const standing = session.find.standing.value;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from anywhere
    <div class={style["bar"]} role="search" aria-label="Find in this sample" onKeyDown={onKeyDown}>
      <input
        ref={field}
        class="field"
        type="search"
        aria-label="Find in this sample"
        placeholder="Find in this sample"
        maxLength={1000}
        value={session.find.wanted.value}
        onInput={(event) => {
          session.find.wanted.value = event.currentTarget.value;
        }}
      />
      <span class={style["count"]} role="status">
        {session.find.error.value ?? words(standing)}
      </span>
      <button
        type="button"
        class="action"
        aria-label="Previous place"
        title="Previous (Shift+Enter)"
        onClick={() => session.find.step(-1)}
      >
        ↑
      </button>
      <button
        type="button"
        class="action"
        aria-label="Next place"
        title="Next (Enter)"
        onClick={() => session.find.step(1)}
      >
        ↓
      </button>
      <button
        type="button"
        class="action"
        aria-pressed={session.find.isCased.value}
        title="Match case"
        onClick={() => {
          session.find.isCased.value = !session.find.isCased.value;
        }}
      >
        Aa
      </button>
      <button type="button" class="action" onClick={session.find.close}>
        Close
      </button>
    </div>
  );
}

function words(standing: { at: number; total: number; visitable: number } | null): string {
  if (standing === null) return "";
  if (standing.total === 0) return "Nothing found";
  const more =
    standing.visitable < standing.total ? `, of which you can visit the first ${figure(standing.visitable)}` : "";
  return `${figure(standing.at)} of ${figure(standing.total)}${more}`;
}
