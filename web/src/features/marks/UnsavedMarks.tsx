/** Changes that could not be saved: the reason, and what to do. They stay on the screen as written. */

import type { Subject } from "../../lib/marks";
import { count } from "../../lib/numbers/numbers";
import { sentence } from "../../lib/text/sentence";
import { dropUnsaved, sendAgain, unsavedMarks } from "../../state/marks";
import { Notice } from "../../ui/overlay/Notice";

export function UnsavedMarks() {
  const all = [...unsavedMarks.value.values()];
  const last = all.at(-1);
  if (last === undefined) return null;
  return (
    <Notice>
      <p>
        <b>{all.length === 1 ? named(last.subject) : count(all.length, "change")} could not be saved.</b>{" "}
        {sentence(last.error.message)} {sentence(last.error.next)}
      </p>
      <button type="button" class="action strong" onClick={() => void sendAgain()}>
        Try again
      </button>
      <button type="button" class="action" onClick={dropUnsaved}>
        Discard
      </button>
    </Notice>
  );
}

function named({ kind, name }: Subject): string {
  if (kind === "layout") return "The layout of the charts";
  return kind === "run" ? "Your change to the run" : `Your change to ${name}`;
}
