/** The legend of a chart. */

import style from "./RunTokens.module.css";

export interface Line {
  label: string;
  /** The number of its colour. */
  colour: number;
  value?: string;
}

/** The number of the colour for a second line beside this colour. */
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
