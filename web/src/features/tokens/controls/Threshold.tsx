/** A threshold of a rule: a field for its number, and a slider for trying others. */

import { harmless } from "../../../lib/text/invisible";
import { mostOf, stepOf } from "../../../lib/tokens/masks";
import { NumberField } from "./NumberField";
import style from "./Controls.module.css";

interface Props {
  /** What people call the rule. */
  rule: string;
  name: string;
  value: number;
  /** The threshold of the run or the paper, which sets the range of the slider. */
  usual: number;
  choose: (value: number) => void;
}

export function Threshold({ rule, name, value, usual, choose }: Props) {
  const label = harmless(`${rule}: ${name}`);
  return (
    <span class={style["threshold"]}>
      <label>
        {harmless(name)} <NumberField label={label} value={value} step={stepOf(usual)} choose={choose} />
      </label>
      <input
        type="range"
        min={0}
        max={mostOf(usual)}
        step={stepOf(usual)}
        value={value}
        aria-label={label}
        title={`${label}: slide`}
        onInput={({ currentTarget: { valueAsNumber } }) => choose(valueAsNumber)}
      />
    </span>
  );
}
