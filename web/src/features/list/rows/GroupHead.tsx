/** The heads of the columns of groups: their names, and the meaning of their colours. */

import { useSession } from "../../../state/useSession";
import type { Session } from "../../../state/session";
import { score } from "../../../lib/numbers/numbers";
import { endsOf, ramp } from "../../../lib/colour/scales";
import { harmless } from "../../../lib/text/invisible";
import type { Shown, Strips } from "../../../state/list/strips";
import { Text } from "../../../ui/text/Text";
import style from "./Row.module.css";

/** The rows say the same in words, so a screen reader skips the heads. */
export function GroupHead({ strips: { strips, isBeside } }: { strips: Strips }) {
  const session = useSession();
  const [first] = strips;
  const mean =
    first === undefined ? null : <span class={style["means"]}>{first.name === "reward" ? "Mean ± std" : "Mean"}</span>;
  if (isBeside) {
    return (
      <div class={`${style["group"]} ${style["head"]}`} aria-hidden="true">
        <span>Prompt</span>
        <span title={first && meaning(session, first)}>
          {first !== undefined && <Text text={first.words} />}
          {first !== undefined && <i class={style["legend"]} style={{ background: ramp(first.scale) }} />}
        </span>
        {mean}
      </div>
    );
  }
  return (
    <div class={`${style["group"]} ${style["below"]} ${style["head"]} ${style["tall"]}`} aria-hidden="true">
      <span class={style["strips"]}>
        {strips.map((strip) => (
          <span
            key={strip.name}
            class={style["named"]}
            style={{ width: `${strip.px}px` }}
            title={meaning(session, strip)}
          >
            <span class="clip">
              <Text text={strip.words} />
            </span>
            <Ends strip={strip} />
          </span>
        ))}
      </span>
      {mean}
    </div>
  );
}

/** The ends of the colour scale. */
function Ends({ strip: { scale } }: { strip: Shown }) {
  const ends = endsOf(scale);
  const [first, last] = ends;
  if (first === undefined) return null;
  return (
    <small class={style["ends"]}>
      {ends.length > 1 && <span>{first}</span>}
      <i style={{ background: ramp(scale) }} />
      <span>{last ?? first}</span>
    </small>
  );
}

function meaning(session: Session, { name, scale: { kind, low, high } }: Shown): string {
  return kind === "none"
    ? harmless(session.columns.label(name))
    : `${harmless(session.columns.label(name))}: colours from ${score(low)} to ${score(high)}`;
}
