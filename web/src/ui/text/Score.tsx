/** A reward: a coloured cell, and the number in ink, readable without colours. */

import { useSession } from "../../state/useSession";
import type { WireNumber } from "../../api/types.gen";
import { exact, score, toNumber } from "../../lib/numbers/numbers";
import { colour, share } from "../../lib/colour/scales";
import style from "./Score.module.css";

export function Score({ value }: { value: WireNumber }) {
  const session = useSession();
  const at = share(toNumber(value), session.ranges.reward.value);
  return (
    <span class={style["score"]} title={`reward ${exact(value)}`}>
      <i class={at === null ? style["none"] : undefined} style={at === null ? undefined : { background: colour(at) }} />
      {score(value, "–")}
    </span>
  );
}
