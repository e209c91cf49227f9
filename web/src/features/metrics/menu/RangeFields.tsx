/** The ends of the axis of values; an empty one follows the values. */

import { useId, useState } from "preact/hooks";
import { type Change, numberOf } from "../choice";
import style from "../Metrics.module.css";

interface Props {
  low: string;
  high: string;
  /** The values are shares: their axis is in percent. */
  isShare: boolean;
  alter: Change;
}

/** Why the two ends make no axis; empty if they do. An empty end follows the values. */
export function refusal(low: string, high: string): string {
  const wrong = [low, high].find((text) => text.trim() !== "" && numberOf(text) === null);
  if (wrong !== undefined) return `${wrong.trim()} is not a number`;
  const [from, to] = [numberOf(low), numberOf(high)];
  return from !== null && to !== null && from >= to ? "The first must be less than the second" : "";
}

/** A number times a factor; other text stays. */
const times = (text: string, factor: number): string => {
  const number = numberOf(text);
  return number === null ? text.trim() : String(Number((number * factor).toPrecision(12)));
};

export function RangeFields({ low, high, isShare, alter }: Props) {
  const factor = isShare ? 100 : 1;
  const [typed, type] = useState({ low: times(low, factor), high: times(high, factor) });
  const trouble = useId();
  const why = refusal(typed.low, typed.high);
  const settle = (): void => {
    if (why === "") alter({ low: times(typed.low, 1 / factor), high: times(typed.high, 1 / factor) });
  };
  const field = (name: "low" | "high", label: string) => (
    <input
      class="field"
      inputMode="decimal"
      placeholder="auto"
      aria-label={label}
      aria-invalid={why !== ""}
      aria-describedby={trouble}
      value={typed[name]}
      onInput={(event) => type({ ...typed, [name]: event.currentTarget.value })}
      onChange={settle}
    />
  );
  return (
    <>
      <div class={style["range"]}>
        y {field("low", "Lowest value of the axis")} to {field("high", "Highest value of the axis")} {isShare && "%"}
      </div>
      <p id={trouble} class={style["refusal"]} role="alert">
        {why}
      </p>
    </>
  );
}
