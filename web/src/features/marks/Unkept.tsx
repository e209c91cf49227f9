/** Changes that could not be kept: why, and the ways on. They stay on the screen as they were written. */

import type { Subject } from "../../lib/marks";
import { count } from "../../lib/numbers";
import { sentence } from "../../lib/words";
import { letGo, sendAgain, unkept } from "../../state/marks";
import { Notice } from "../../ui/Notice";

export function Unkept() {
  const all = [...unkept.value.values()];
  const last = all.at(-1);
  if (last === undefined) return null;
  return (
    <Notice>
      <p>
        <b>{all.length === 1 ? named(last.subject) : count(all.length, "change")} could not be kept.</b> {sentence(last.error.message)} {sentence(last.error.next)}
      </p>
      <button type="button" class="action strong" onClick={() => void sendAgain()}>Try again</button>
      <button type="button" class="action" onClick={letGo}>Let go</button>
    </Notice>
  );
}

const named = ({ kind, name }: Subject): string => (kind === "run" ? "What you said of the run" : `What you marked on ${name}`);
