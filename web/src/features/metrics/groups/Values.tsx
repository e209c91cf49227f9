/** The values of other runs at the pointed step, or of all groups, each with its name. */

import type { Line } from "../parts/lines";
import { wordsOfValue } from "../parts/lines";
import style from "../Metrics.module.css";

/** Names of more runs take more room than their values: the head of the page has them. */
const FEW = 4;

interface Props {
  /** That of the run of the page first, unless they are groups: its value is beside the title. */
  lines: readonly Line[];
  pointed: number | null;
  isGrouped: boolean;
}

export function Values({ lines, pointed, isGrouped }: Props) {
  // A run without the curve has no line to name.
  const drawn = lines.slice(isGrouped ? 0 : 1).filter(({ curve }) => curve !== null);
  const isNamed = isGrouped || drawn.length <= FEW;
  if (drawn.length === 0) return null;
  return (
    <p class={style["others"]}>
      {drawn.map((line) => (
        <span key={line.name} title={line.name}>
          <i style={{ background: `var(--run-${line.colour})` }} />
          {isNamed ? `${line.source}: ` : ""}
          {wordsOfValue(line, lines, pointed)}
        </span>
      ))}
    </p>
  );
}
