/** The curves of a chart that has several, each shown or hidden by a press; their values are under the pointer. */

import type { Dash } from "../../../lib/charts/picture";
import { type Line, type Row, shownOf, valueOf } from "./lines";
import style from "./Parts.module.css";

interface Props {
  rows: readonly Row[];
  show: (text: string, isShown: boolean) => void;
  part: (text: string) => void;
}

export function Legend({ rows, show, part }: Props) {
  return (
    <ul class={style["legend"]} aria-label="Curves">
      {rows.map((row) => (
        <li key={row.text}>
          <button
            type="button"
            class={style["curve"]}
            aria-pressed={!row.isHidden}
            title={`${lastOf(row)}\n${row.isHidden ? "Show" : "Hide"}`}
            onClick={() => show(row.text, row.isHidden)}
          >
            <Key colour={row.colour} dash={row.dash} />
            <span class="clip">{row.title}</span>
          </button>
          <button
            type="button"
            class="action"
            aria-label={`Remove ${row.title} from the chart`}
            title="Remove"
            onClick={() => part(row.text)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The last value of each line of a curve. */
function lastOf({ title, lines }: Row): string {
  const last = (line: Line): string => line.write(valueOf(line.curve, null), "–");
  return shownOf(lines)
    .map((line) => `${lines.length > 1 ? line.source : title}, last: ${last(line)}`)
    .join("\n");
}

const KEY_PX = 16;

/** A piece of the line, with its colour and dash. */
export function Key({ colour, dash }: { colour: number | null; dash: Dash }) {
  return (
    <svg width={KEY_PX} height="2" aria-hidden="true" style={{ color: colour === null ? "" : `var(--run-${colour})` }}>
      <line x2={KEY_PX} y1="1" y2="1" stroke="currentColor" stroke-width="2" stroke-dasharray={dash.join(" ")} />
    </svg>
  );
}
