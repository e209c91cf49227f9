/** A tool call: its name, its indented arguments, its result, its error. */

import { useSession } from "../../../state/useSession";
import type { PartView } from "../../../api/types.gen";
import { errorOf } from "../../../lib/sample/toolResults";
import { gist } from "../../../lib/sample/parts";
import { Text } from "../../../ui/text/Text";
import style from "./Call.module.css";

export function Call({ part, at }: { part: PartView; at: string }) {
  const { call } = part;
  if (call === null)
    return (
      <div class={style["call"]}>
        <Text text={part.text} at={at} />
      </div>
    );
  return (
    <div class={style["call"]} role="group" aria-label={`Call of ${call.name}`}>
      <div class={style["head"]}>
        <b>
          <Text text={call.name || "(no name)"} />
        </b>
        {call.id !== "" && (
          <small>
            <Text text={call.id} />
          </small>
        )}
        {!part.closed && <small>cut off</small>}
      </div>
      {call.arguments !== "" && (
        <div class={style["arguments"]}>
          <Text text={call.arguments} at={at} />
        </div>
      )}
      {call.error !== "" && (
        <div class={style["error"]}>
          <Text text={call.error} />
        </div>
      )}
      <Answer at={at} />
    </div>
  );
}

/** The first words of the result, and a link to it. */
function Answer({ at }: { at: string }) {
  const session = useSession();
  const number = session.sample.toolResults.value.get(at);
  const from = session.sample.page.value?.turn_from ?? 0;
  const turn = number === undefined ? undefined : session.sample.page.value?.turns[number - from];
  if (number === undefined || turn === undefined) return null;
  const error = errorOf(turn.logs);
  const place = turn.parts.findIndex((part) => part.text.trim() !== "" && part.kind !== "marker");
  const go = (): void => void session.highlights.goTo({ at: `${number}.${Math.max(0, place)}`, start: 0, stop: 1 });
  return (
    <button
      type="button"
      class={`${style["answer"]} ${error === "" ? "" : style["error"]}`}
      title="Go to the result"
      onClick={go}
    >
      → <Text text={error !== "" && error !== "error" ? error : gist(turn)} />
    </button>
  );
}
