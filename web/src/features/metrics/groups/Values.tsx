/** The values of other runs at the pointed step, or of all groups, each with its name. */

import { score } from "../../../lib/numbers/numbers";
import type { Line } from "../parts/lines";
import { valueOf } from "../parts/lines";
import style from "../Metrics.module.css";

interface Props {
  lines: readonly Line[];
  pointed: number | null;
  isGrouped: boolean;
}

export function Values({ lines, pointed, isGrouped }: Props) {
  // A run without the curve has no line to name.
  const drawn = lines.filter(({ curve }) => curve !== null);
  if (drawn.length === 0) return null;
  return (
    <p class={style["others"]}>
      {drawn.map(({ curve, name, colour }) => (
        <span key={name} title={name}>
          <i style={{ background: `var(--run-${colour})` }} />
          {isGrouped ? `${name}: ` : ""}
          {score(valueOf(curve, pointed), "–")}
        </span>
      ))}
    </p>
  );
}
