/** The reason for discarding samples, in the trainer's words. */

import { harmless } from "../../lib/text/invisible";
import { Text } from "../../ui/text/Text";
import style from "./Discarded.module.css";

export function ReasonBadge({ reason }: { reason: string }) {
  return (
    <span class={style["badge"]} title={harmless(`Not trained on: ${reason}`)}>
      <Text text={reason} />
    </span>
  );
}
