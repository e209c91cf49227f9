/** The reason for discarding samples, in the trainer's words. */

import { meaningOf } from "../../lib/sample/discardReasons";
import { harmless } from "../../lib/text/invisible";
import { Text } from "../../ui/text/Text";
import style from "./Discarded.module.css";

export function ReasonBadge({ reason }: { reason: string }) {
  const meaning = meaningOf(reason);
  return (
    <span class={style["badge"]} title={harmless(`Not trained on: ${reason}${meaning && `: ${meaning}`}`)}>
      <Text text={reason} />
    </span>
  );
}
