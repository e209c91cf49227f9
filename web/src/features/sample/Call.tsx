/** A call of a tool: its name, its arguments laid out, its error. */

import type { PartView } from "../../api/types.gen";
import { Text } from "../../ui/Text";
import style from "./Call.module.css";

export function Call({ part }: { part: PartView }) {
  const { call } = part;
  if (call === null) return <div class={style["call"]}><Text text={part.text} /></div>;
  return (
    <div class={style["call"]} role="group" aria-label={`Call of ${call.name}`}>
      <div class={style["head"]}>
        <b>{call.name || "(no name)"}</b>
        {call.id !== "" && <small>{call.id}</small>}
        {!part.closed && <small>cut off</small>}
      </div>
      {call.arguments !== "" && <div class={style["arguments"]}><Text text={call.arguments} /></div>}
      {call.error !== "" && <div class={style["error"]}>{call.error}</div>}
    </div>
  );
}
