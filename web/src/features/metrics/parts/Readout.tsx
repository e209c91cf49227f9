/**
 * The values at the pointer: x, the value at the dot and the average at the ring; with several curves, the value of
 * each in each run. It lies over the chart, so nothing moves.
 */

import type { Curve, Frame } from "../../charts";
import { Key } from "./Legend";
import { placeOf, reachAt, type Row, shownOf, wordsOfValue } from "./lines";
import style from "./Parts.module.css";

/** More values, in the colours of their runs, would hide the chart. */
const MOST_VALUES = 12;

interface Props {
  curve: Curve;
  frame: Frame | null;
  pointed: number;
  /** x in words; empty for the step. */
  across: string;
  /** Empty if the rows have the values. */
  value: string;
  /** Empty if it equals the value. */
  average: string;
  /** The curves of a chart with several, else none. */
  rows: readonly Row[];
}

export function Readout({ curve, frame, pointed, across, value, average, rows }: Props) {
  const parts = [
    ...(across === "" ? [] : [across]),
    ...(average === "" ? [] : [value === "" ? "● value" : `● ${value}`, `○ ${average}`]),
  ];
  if (parts.length === 0 && rows.length === 0) return null;
  const x = (curve.x ?? curve.steps)[placeOf(curve, pointed)] ?? 0;
  const isRight = frame !== null && x > (frame.low + frame.high) / 2;
  return (
    <div class={style["readout"]} data-side={isRight ? "left" : "right"}>
      {parts.length > 0 && (
        <p>
          {parts.map((part) => (
            <span key={part}>{part}</span>
          ))}
        </p>
      )}
      {rows.length > 0 && (
        <ul aria-label="Values">
          {rows.map((row) => (
            <li key={row.text}>
              <Key colour={row.colour} dash={row.dash} />
              <span class="clip">{row.title}</span>
              {shownOf(row.lines).length > MOST_VALUES ? (
                <b>{reachAt(row.lines, pointed)}</b>
              ) : (
                shownOf(row.lines).map((line) => (
                  <b key={line.source} style={row.colour === null ? { color: `var(--run-${line.colour})` } : {}}>
                    {wordsOfValue(line, row.lines, pointed)}
                  </b>
                ))
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
