/** What the pointer says within a chart: what stands across, the value at the dot, and the average at the ring. */

import type { Curve, Frame } from "../../charts";
import { placeOf } from "./lines";
import style from "./Parts.module.css";

interface Props {
  curve: Curve;
  frame: Frame | null;
  pointed: number;
  /** What stands across, in words; empty for the step. */
  across: string;
  /** Empty where the legend has the values. */
  value: string;
  /** Empty where it is the value. */
  average: string;
}

export function Readout({ curve, frame, pointed, across, value, average }: Props) {
  const parts = [
    ...(across === "" ? [] : [across]),
    ...(average === "" ? [] : [value === "" ? "● value" : `● ${value}`, `○ ${average}`]),
  ];
  if (parts.length === 0) return null;
  const x = (curve.x ?? curve.steps)[placeOf(curve, pointed)] ?? 0;
  const isRight = frame !== null && x > (frame.low + frame.high) / 2;
  return (
    <p class={style["readout"]} data-side={isRight ? "left" : "right"}>
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
    </p>
  );
}
