/** Explains which answers count as correct. */

import type { WireNumber } from "../../api/types.gen";
import { score } from "../../lib/numbers/numbers";
import { Text } from "../../ui/text/Text";
import style from "./Evals.module.css";

interface Props {
  of: { metric: string; bar: WireNumber; falls: boolean; reason: string };
}

export function Judge({ of: { metric, bar, falls, reason } }: Props) {
  return (
    <p class={`quiet ${style["judge"]}`}>
      correct if <Text text={metric} /> {falls ? "≤" : "≥"} {score(bar)}: <Text text={reason} />
    </p>
  );
}
