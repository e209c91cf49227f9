/** What the lines of a chart are. */

import style from "./RunTokens.module.css";

export interface Line {
  label: string;
  /** The number of its colour. */
  colour: number;
  value?: string;
}

/** The colour of a second line beside one of this colour. */
export const besides = (colour: number): number => (colour === 3 ? 2 : 3);

export function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <span class={style["lines"]}>
      {lines.map(({ label, colour, value }) => (
        <span key={label}>
          <i style={{ background: `var(--run-${colour})` }} /> {label}
          {value === undefined ? "" : <b> {value}</b>}
        </span>
      ))}
    </span>
  );
}
