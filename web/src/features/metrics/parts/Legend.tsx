/** The curves of a chart that has several: each with its colour and its values, shown or hidden by a press. */

import type { Row } from "./lines";
import style from "./Parts.module.css";

interface Props {
  rows: readonly (Row & { values: string })[];
  hidden: ReadonlySet<string>;
  toggle: (text: string) => void;
  part: (text: string) => void;
}

export function Legend({ rows, hidden, toggle, part }: Props) {
  return (
    <ul class={style["legend"]} aria-label="Curves">
      {rows.map(({ text, title, colour, dash, values }) => (
        <li key={text}>
          <button
            type="button"
            class={style["curve"]}
            aria-pressed={!hidden.has(text)}
            title={hidden.has(text) ? "Show" : "Hide"}
            onClick={() => toggle(text)}
          >
            <i style={{ color: `var(--run-${colour})` }} data-broken={dash.length > 0} />
            <span class="clip">{title}</span>
          </button>
          <b>{values}</b>
          <button
            type="button"
            class="action"
            aria-label={`Take ${title} out of the chart`}
            title="Take out"
            onClick={() => part(text)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
