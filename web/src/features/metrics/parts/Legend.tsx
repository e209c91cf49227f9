/**
 * The curves of a chart that has several: each with its values, shown or hidden by a press. Of several runs each value
 * has the colour of its run, and a line below names them.
 */

import type { Dash } from "../../../lib/charts/picture";
import { figure, score } from "../../../lib/numbers/numbers";
import { endOf, type Line, linesOf, type Row, valueOf, wordsOfValue } from "./lines";
import style from "./Parts.module.css";

interface Props {
  rows: readonly Row[];
  pointed: number | null;
  hidden: ReadonlySet<string>;
  toggle: (text: string) => void;
  part: (text: string) => void;
}

export function Legend({ rows, pointed, hidden, toggle, part }: Props) {
  const lines = linesOf(rows);
  const sources = new Set(lines.map(({ source }) => source));
  return (
    <>
      <ul class={style["legend"]} aria-label="Curves">
        {rows.map((row) => (
          <li key={row.text}>
            <button
              type="button"
              class={style["curve"]}
              aria-pressed={!hidden.has(row.text)}
              title={hidden.has(row.text) ? "Show" : "Hide"}
              onClick={() => toggle(row.text)}
            >
              <Key colour={row.colour} dash={row.dash} />
              <span class="clip">{row.title}</span>
            </button>
            <Numbers row={row} sources={sources} pointed={pointed} all={lines} />
            <button
              type="button"
              class="action"
              aria-label={`Take ${row.title} out of the chart`}
              title="Take out"
              onClick={() => part(row.text)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      {rows[0]?.colour === null && <Runs rows={rows} sources={sources} />}
    </>
  );
}

interface NumbersProps {
  row: Row;
  sources: ReadonlySet<string>;
  pointed: number | null;
  all: readonly Line[];
}

/** The value of the curve in each run of the chart. The line below says where runs ended, without a pointer. */
function Numbers({ row, sources, pointed, all }: NumbersProps) {
  const shown = row.lines.filter(({ source }, i) => sources.has(source) || (i === 0 && row.lines.length === 1));
  const words = shown.map((line) =>
    pointed === null ? score(valueOf(line.curve, null), "–") : wordsOfValue(line, all, pointed),
  );
  return (
    <b title={shown.map(({ source }, i) => `${source}: ${words[i] ?? ""}`).join("\n")}>
      {shown.map(({ colour, source }, i) => (
        <span key={source} style={row.colour === null ? { color: `var(--run-${colour})` } : {}}>
          {words[i]}
        </span>
      ))}
    </b>
  );
}

/** The runs with their colours, and where those ended that are shorter than others. */
function Runs({ rows, sources }: { rows: readonly Row[]; sources: ReadonlySet<string> }) {
  const all = linesOf(rows);
  const named = all.filter(({ source }, i) => all.findIndex((one) => one.source === source) === i);
  return (
    <ul class={style["runs"]} aria-label="Runs">
      {named
        .filter(({ source }) => sources.has(source))
        .map((line) => {
          const end = endOf(line, all);
          return (
            <li key={line.source}>
              <i style={{ background: `var(--run-${line.colour})` }} />
              <span class="clip">{line.source}</span>
              {end !== null && <small>to step {figure(end)}</small>}
            </li>
          );
        })}
    </ul>
  );
}

const KEY_PX = 18;

/** A piece of the line. */
function Key({ colour, dash }: { colour: number | null; dash: Dash }) {
  return (
    <svg width={KEY_PX} height="2" aria-hidden="true" style={{ color: colour === null ? "" : `var(--run-${colour})` }}>
      <line x2={KEY_PX} y1="1" y2="1" stroke="currentColor" stroke-width="2" stroke-dasharray={dash.join(" ")} />
    </svg>
  );
}
