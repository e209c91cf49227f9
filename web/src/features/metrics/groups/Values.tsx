/**
 * The values of other runs at the pointed step, or the last one, in a line; groups of runs also have their names here.
 */

import type { Line } from "../parts/lines";
import { Key } from "../parts/Legend";
import { shownOf, wordsOfValue } from "../parts/lines";
import style from "../Metrics.module.css";

interface Props {
  /** The first is the run of the page, whose value is beside the title, unless these are groups. */
  lines: readonly Line[];
  pointed: number | null;
  isGrouped: boolean;
}

export function Values({ lines, pointed, isGrouped }: Props) {
  const drawn = shownOf(lines.slice(isGrouped ? 0 : 1));
  return (
    <p class={isGrouped ? style["others"] : `${style["others"]} ${style["inLine"]}`}>
      {drawn.map((line) => (
        <span key={line.name} title={line.name}>
          {line.dash.length > 0 ? (
            <Key colour={line.colour} dash={line.dash} />
          ) : (
            <i style={{ background: `var(--run-${line.colour})` }} />
          )}
          <span class={isGrouped ? undefined : "hidden"}>{line.source}: </span>
          {wordsOfValue(line, lines, pointed)}
        </span>
      ))}
    </p>
  );
}
