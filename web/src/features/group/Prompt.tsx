/** The prompt above the answers, one line or on demand the whole, and the golden answer. */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import type { MembersReply } from "../../api/types.gen";
import { count } from "../../lib/numbers/numbers";
import { opening } from "../../lib/sample/parts";
import { Rich } from "../../ui/text/Rich";
import { Text } from "../../ui/text/Text";
import { Turns } from "./columns/Pieces";
import folded from "./folded.module.css";
import style from "./Prompt.module.css";

const OPENING_CHARS = 200;

/** The beginning of the prompt from the list, until the answers are loaded. */
export function Gist() {
  const session = useSession();
  const [first] = session.group.membersHere.value;
  return (
    <p class={style["short"]}>
      <b>Prompt</b>{" "}
      <span class={style["gist"]}>
        <Text text={first?.prompt ?? "…"} />
      </span>
    </p>
  );
}

export function Prompt({ reply }: { reply: MembersReply }) {
  const session = useSession();
  const [isOpen, open] = useState(false);
  const sent = reply.prompt.reduce((sum, { own }) => sum + own.length, 0);
  const question = reply.prompt.findLast(
    ({ kind, own }) => kind !== "marker" && kind !== "placeholder" && own.trim() !== "",
  );
  const alone = { sample: reply.id, view: "transcript" as const };
  return (
    <>
      <details class={`${folded["folded"]} ${style["prompt"]}`} onToggle={(event) => open(event.currentTarget.open)}>
        <summary>
          <b>Prompt</b>{" "}
          {!isOpen && (
            <span class={style["gist"]}>
              <Text text={question === undefined ? "(none)" : opening(question.own, OPENING_CHARS)} />
            </span>
          )}
        </summary>
        {isOpen && (
          <div class={style["text"]}>
            <Turns pieces={reply.prompt} renderPiece={(piece) => <Rich text={piece.own} />} />
            {sent < reply.prompt_chars && (
              <a
                href={session.place.href(alone)}
                onClick={session.place.onLink(alone)}
              >{`… ${count(reply.prompt_chars - sent, "character")} more: read the sample`}</a>
            )}
          </div>
        )}
      </details>
      {reply.label !== "" && (
        <p class={style["golden"]}>
          <b>Golden</b>{" "}
          <span>
            <Text text={reply.label.slice(0, 2000)} />
          </span>
        </p>
      )}
    </>
  );
}
