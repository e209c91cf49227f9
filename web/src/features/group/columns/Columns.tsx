/** The answers of a group side by side; those that do not fit are beyond the edge. */

import { useSession } from "../../../state/useSession";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { MembersReply } from "../../../api/types.gen";
import { figure } from "../../../lib/numbers/numbers";
import { Column } from "./Column";
import style from "./Columns.module.css";

export function Columns({ reply }: { reply: MembersReply }) {
  const session = useSession();
  const root = useRef<HTMLDivElement>(null);
  const id = session.place.field.sample.value;
  const items = session.group.membersHere.value;
  const shown = reply.answers;

  // The column of the current sample scrolls into view when another is chosen, never while the reader scrolls.
  useLayoutEffect(() => {
    const box = root.current;
    const column = box?.querySelector<HTMLElement>('[aria-current="true"]');
    if (!box || !column) return;
    const from = column.offsetLeft;
    if (from < box.scrollLeft) box.scrollLeft = from;
    else if (from + column.offsetWidth > box.scrollLeft + box.clientWidth)
      box.scrollLeft = from + column.offsetWidth - box.clientWidth;
  }, [id, shown.length]);

  const isOfPage = reply.total > shown.length;
  return (
    <>
      {isOfPage && <Pages reply={reply} ids={items.map((item) => item.id)} />}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <div
        class={`${style["columns"]} ${shown.length === 1 ? style["alone"] : ""}`}
        ref={root}
        role="region"
        tabIndex={0}
        aria-label="Answers, side by side"
      >
        {shown.map((answer) => (
          <Column
            key={answer.id}
            answer={answer}
            reply={reply}
            item={items.find((item) => item.id === answer.id)}
            items={items}
            isHere={answer.id === id}
          />
        ))}
      </div>
    </>
  );
}

/** The loaded samples of a very large group, and buttons for the others. */
function Pages({ reply, ids }: { reply: MembersReply; ids: readonly string[] }) {
  const session = useSession();
  const { offset, total, answers } = reply;
  const to = (at: number): string | null => ids[at] ?? null;
  const before = to(Math.max(0, offset - 1));
  const after = to(offset + answers.length);
  return (
    <nav class={style["pages"]} aria-label="Other samples of the group">
      <span>
        Samples {figure(offset + 1)}–{figure(offset + answers.length)} of {figure(total)}; the figures on what they
        share cover these
      </span>
      {offset > 0 && before !== null && (
        <button type="button" class="action" onClick={() => session.place.go({ sample: before })}>
          Before
        </button>
      )}
      {offset + answers.length < total && after !== null && (
        <button type="button" class="action" onClick={() => session.place.go({ sample: after })}>
          After
        </button>
      )}
    </nav>
  );
}
